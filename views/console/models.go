package console

import (
	"net/url"
	"strings"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// ModelShelf is one of the places where models are.
type ModelShelf string

// The shelves. ShelfHosted is the one when none is chosen.
const (
	ShelfHosted    ModelShelf = ""
	ShelfProviders ModelShelf = "providers"
	ShelfBuiltIn   ModelShelf = "built-in"
)

// ModelsPage is the catalogue.
type ModelsPage struct {
	Shelf           ModelShelf
	Query, Category string
	// Categories are the titles of all of them.
	Categories []string
	Groups     []components.ModelGroup
	// BuiltIn are the kinds that stand on what is inside Sluice.
	BuiltIn []BuiltInModel
	// MayEdit is false for viewers.
	MayEdit bool
}

// BuiltInModel is a kind that needs no model of others.
type BuiltInModel struct{ Title, Icon, Group, Text string }

// ModelPage is one hosted model.
type ModelPage struct {
	ID, Title, Text, Version string
	Inputs                   []ModelInput
	Outputs                  []ModelOutput
	// Open is set for a model without an input schema.
	Open bool
	// Why tells why it cannot be described or used.
	Why     string
	MayEdit bool
}

// ModelInput is what a model takes.
type ModelInput struct {
	Name, Title, Type, Default, Help string
	Required                         bool
}

// ModelOutput is what it puts out.
type ModelOutput struct{ Name, Type string }

func (m ModelsPage) tabs() []components.Tab {
	return []components.Tab{
		{Label: "Hosted", Href: "/models", Current: m.Shelf == ShelfHosted},
		{Label: "Providers and this machine", Href: "/models?shelf=providers", Current: m.Shelf == ShelfProviders},
		{Label: "Built in", Href: "/models?shelf=built-in", Current: m.Shelf == ShelfBuiltIn},
	}
}

// modelPath is where a hosted model is shown.
func modelPath(id string) templ.SafeURL {
	owner, name, _ := strings.Cut(id, "/")
	return templ.SafeURL("/models/" + url.PathEscape(owner) + "/" + url.PathEscape(name))
}

// found counts the models of all groups.
func (m ModelsPage) found() (n int) {
	for _, g := range m.Groups {
		n += len(g.Models)
	}
	return n
}
