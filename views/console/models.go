package console

import (
	"cmp"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// ModelShelf is a filter by where models run: a provider, this machine, or hosted.
type ModelShelf string

// The shelves. ShelfAll is the default.
const (
	ShelfAll       ModelShelf = ""
	ShelfBuiltIn   ModelShelf = "built-in"
	ShelfMachine   ModelShelf = "machine"
	ShelfConnected ModelShelf = "connected"
	ShelfHosted    ModelShelf = "hosted"
)

// Label returns the label of the shelf.
func (s ModelShelf) Label() string {
	switch s {
	case ShelfBuiltIn:
		return "Built in"
	case ShelfMachine:
		return "This machine"
	case ShelfConnected:
		return "Connected"
	case ShelfHosted:
		return "Hosted"
	}
	return "All sources"
}

// icon returns the icon of a shelf. A globe stands for hosted models and for all
// shelves together.
func (s ModelShelf) icon() string {
	switch s {
	case ShelfBuiltIn:
		return "box"
	case ShelfMachine:
		return "monitor"
	case ShelfConnected:
		return "plug"
	}
	return "globe"
}

// ModelSort is an order of the catalog. The default has models first that need no credential.
type ModelSort string

// The orders of the catalog.
const (
	SortModelName    ModelSort = "name"
	SortModelPrice   ModelSort = "price"
	SortModelContext ModelSort = "context"
)

var (
	modelSorts  = []components.Option{{Value: "", Label: "Ready to use first"}, {Value: string(SortModelName), Label: "By name"}, {Value: string(SortModelPrice), Label: "Lowest price first"}, {Value: string(SortModelContext), Label: "Largest context first"}}
	modelPrices = []components.Option{{Value: "", Label: "Any price"}, {Value: "free", Label: "Free"}, {Value: "1", Label: "Under $1 per 1M tokens"}, {Value: "5", Label: "Under $5 per 1M tokens"}}
)

// Costs reports whether a card matches a filter of prices, one of modelPrices. Prices are those of input tokens; a
// model whose price is unknown matches only "".
func (c *ModelCard) Costs(filter string) bool {
	price, known := components.InputPrice(c.Price)
	switch filter {
	case "free":
		return known && price == 0
	case "1", "5":
		most, _ := strconv.ParseFloat(filter, 64)
		return known && price < most
	}
	return true
}

// SortCards sorts the cards of the catalog. Unknown prices and sizes come last.
func SortCards(cards []ModelCard, by ModelSort) {
	switch by {
	case SortModelName:
		slices.SortStableFunc(cards, func(a, b ModelCard) int {
			return strings.Compare(strings.ToLower(cmp.Or(a.Title, a.ID)), strings.ToLower(cmp.Or(b.Title, b.ID)))
		})
	case SortModelPrice:
		slices.SortStableFunc(cards, func(a, b ModelCard) int { return cmp.Compare(priceRank(a), priceRank(b)) })
	case SortModelContext:
		slices.SortStableFunc(cards, func(a, b ModelCard) int { return cmp.Compare(contextSize(b.Context), contextSize(a.Context)) })
	}
}

func priceRank(c ModelCard) float64 {
	if price, known := components.InputPrice(c.Price); known {
		return price
	}
	return math.Inf(1)
}

// contextSize returns the size of a context window, such as 128K, in tokens; 0 if it is unknown.
func contextSize(text string) float64 {
	number, unit := strings.TrimRight(text, "KM"), 1.0
	switch {
	case strings.HasSuffix(text, "K"):
		unit = 1e3
	case strings.HasSuffix(text, "M"):
		unit = 1e6
	}
	n, _ := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
	return n * unit
}

// ModelsPage is the model catalog.
type ModelsPage struct {
	Shelf           ModelShelf
	Query, Category string
	Price           string // a filter; "" is any price
	Sort            ModelSort
	Categories      []ModelCategory
	// Shelves are the shelves that have models, each with its number of matches.
	Shelves []ShelfCount
	Cards   []ModelCard
	// More is the number of cards left out; a search narrows the list.
	More int
	// Notes are providers whose models could not be listed.
	Notes []components.ModelGroup
	// Offered are providers that can be connected.
	Offered []components.ModelGroup
	// MayEdit is false for viewers.
	MayEdit bool
}

// ModelCategory is a category of hosted models, named after their task.
type ModelCategory struct{ Slug, Title, Icon string }

// ShelfCount is the number of matches on a shelf.
type ShelfCount struct {
	Shelf ModelShelf
	Count int
}

// ModelCard is one model in the catalog.
type ModelCard struct {
	ID, Title, Text string
	Shelf           ModelShelf
	// Category is the slug of a category, which determines the picture of the card.
	Category string
	Tags     []string
	// Price, Context and Runs are empty if unknown.
	Price, PriceNote, Context, Runs string
	// Described is set for hosted models, which have a page of their own.
	Described bool
	// Kind is the node kind that a new flow uses the model with; empty for a hosted model.
	Kind string
}

// ModelPage is the page of one hosted model.
type ModelPage struct {
	ID, Title, Text, Version string
	// Runs is how often the model ran at its host, such as "12M runs"; empty if unknown.
	Runs    string
	Tags    []string
	Inputs  []ModelInput
	Outputs []ModelOutput
	// Open is set for a model without an input schema.
	Open bool
	// Why says why the model can't be described or used.
	Why     string
	MayEdit bool
}

// ModelInput is an input of a hosted model.
type ModelInput struct {
	Name, Title, Type, Default, Help string
	Required                         bool
}

// ModelOutput is an output of a hosted model.
type ModelOutput struct{ Name, Type string }

// hasDefaults reports whether the column of defaults would not be empty.
func (m ModelPage) hasDefaults() bool {
	return slices.ContainsFunc(m.Inputs, func(in ModelInput) bool { return in.Default != "" })
}

// hasHelp reports whether the column of descriptions would not be empty.
func (m ModelPage) hasHelp() bool {
	return slices.ContainsFunc(m.Inputs, func(in ModelInput) bool { return in.Help != "" })
}

// link returns the URL of the catalog with another category or shelf.
func (m ModelsPage) link(category string, shelf ModelShelf) templ.SafeURL {
	q := url.Values{}
	for _, p := range [][2]string{{"q", m.Query}, {"category", category}, {"shelf", string(shelf)}, {"price", m.Price}, {"sort", string(m.Sort)}} {
		if p[1] != "" {
			q.Set(p[0], p[1])
		}
	}
	if len(q) == 0 {
		return "/models"
	}
	return templ.SafeURL("/models?" + q.Encode())
}

// cover returns the kind of picture on the card, by what models of the category produce.
func (c ModelCard) cover() string {
	switch c.Category {
	case "image-generation", "image-editing", "upscaling-restoration":
		return "picture"
	case "video":
		return "film"
	case "speech-to-text", "text-to-speech", "music":
		return "wave"
	case "vision-captioning", "ocr", "detection-moderation":
		return "frames"
	case "embeddings":
		return "graph"
	}
	return "lines"
}

// modelPath returns the URL of a hosted model's page.
func modelPath(id string) templ.SafeURL {
	owner, name, _ := strings.Cut(id, "/")
	return templ.SafeURL("/models/" + url.PathEscape(owner) + "/" + url.PathEscape(name))
}
