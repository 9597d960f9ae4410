// Package snippets writes the programs that call a flow, for people to copy:
// in nine languages, from one model of the call. It owns what such a program
// does, how each language writes it and its values, and how code is colored.
// It knows flows by their inputs and outputs alone, and nothing of stores,
// requests or pages.
package snippets

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sluice/flow/document"
)

// Language is one that snippets are written in.
type Language struct{ ID, Name string }

// Manner is how a program gets the result of a run.
type Manner string

// The manners.
const (
	MannerStart   Manner = "start"   // start a run, then ask until it has ended
	MannerWait    Manner = "wait"    // one request, answered when the run has ended or 30 s are over
	MannerStream  Manner = "stream"  // start a run and read its events as they come
	MannerWebhook Manner = "webhook" // be called back, and check who calls
)

// Manners lists the manners in the order they are shown.
func Manners() []Manner { return []Manner{MannerStart, MannerWait, MannerStream, MannerWebhook} }

const (
	// Placeholder stands where a key belongs. It is one word, so that a script
	// can put a real key in its place.
	Placeholder = "slu_YOUR_KEY"
	// PlaceholderSecret stands where the signing secret of a webhook belongs.
	PlaceholderSecret = "whsec_YOUR_SECRET"
)

// Call is what a snippet calls: a flow, with one value for each input shown.
type Call struct {
	BaseURL, FlowID, FlowName string
	Inputs                    []Input
	Outputs                   []document.Output
	Key                       string // empty for Placeholder
	Webhook                   Webhook
}

// Input is one value that a snippet sends. A File is uploaded first; its Value
// is the name of a file on the reader's machine.
type Input struct {
	Name  string
	Value any
	File  bool
}

// Webhook is what a receiver must know.
type Webhook struct {
	Secret string // empty for PlaceholderSecret
}

// language is how one language writes a program: a template for its sentences
// and literals for the values in them.
type language struct {
	Language
	template string                                 // its name, when it is not the ID
	text     func(string) string                    // a string literal
	body     func(inputs []field, depth int) string // a request's body, as an expression on a line indented by depth
	named    map[string]func(string) string         // what else its template calls
}

// all lists the languages in the order they are shown.
var all = []*language{curl, python, javascript, typescript, golang, php, ruby, java, csharp}

// Languages lists the languages in the order they are shown.
func Languages() []Language {
	list := make([]Language, len(all))
	for i, l := range all {
		list[i] = l.Language
	}
	return list
}

// renderer is a language with its parsed templates. It is safe for concurrent use.
type renderer struct {
	*language
	*templateSet
}

// renderers are the languages by ID. They are parsed when the program starts, so a template
// that cannot be parsed panics in every test.
var renderers = func() map[string]renderer {
	m := map[string]renderer{}
	for _, l := range all {
		funcs := map[string]func(args []any) string{
			"text": onString(l.text),
			"body": func(args []any) string { return l.body(args[0].([]field), args[1].(int)) },
		}
		for name, f := range l.named {
			funcs[name] = onString(f)
		}
		m[l.ID] = renderer{l, parseTemplates(cmp.Or(l.template, l.ID), funcs)}
	}
	return m
}()

// onString adapts a function to the arguments of templates. It panics unless the first is a
// string.
func onString(f func(string) string) func(args []any) string {
	return func(args []any) string { return f(args[0].(string)) }
}

// Render writes the snippet of a language for a manner. It fails only for a
// language or manner that does not exist.
func Render(lang string, m Manner, c Call) (string, error) {
	r, known := renderers[lang]
	if !known || !slices.Contains(Manners(), m) {
		return "", fmt.Errorf("there is no snippet in %q for %q", lang, m)
	}
	var b strings.Builder
	r.execute(&b, string(m), programOf(m, c))
	return strings.Trim(b.String(), "\n") + "\n", nil
}
