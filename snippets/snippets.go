// Package snippets generates sample programs that call a flow, in nine languages from one
// model of the call. It owns the steps of these programs, their templates and literals in
// each language, and syntax highlighting. It knows only the inputs and outputs of a flow,
// and has no access to stores, requests or pages.
package snippets

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sluice/flow/document"
)

// Language is a programming language of snippets.
type Language struct{ ID, Name string }

// Mode is how a program gets the result of a run.
type Mode string

// The modes, in the order of complexity.
const (
	ModeStart   Mode = "start"   // start a run, then poll until it has ended
	ModeWait    Mode = "wait"    // one request that waits up to 30 s for the end of the run
	ModeStream  Mode = "stream"  // start a run and read its event stream
	ModeWebhook Mode = "webhook" // receive a webhook and verify its signature
)

// Modes lists the modes in display order.
func Modes() []Mode { return []Mode{ModeStart, ModeWait, ModeStream, ModeWebhook} }

const (
	// Placeholder stands for an API key. It is one word, so that scripts can replace it.
	Placeholder = "slu_YOUR_KEY"
	// PlaceholderSecret stands for the signing secret of a webhook.
	PlaceholderSecret = "whsec_YOUR_SECRET"
)

// Call is the call of a flow that a snippet makes, with a value for each input shown.
type Call struct {
	BaseURL, FlowID, FlowName string
	Inputs                    []Input
	Outputs                   []document.Output
	Key                       string // empty for Placeholder
	Webhook                   Webhook
}

// Input is an input value of a call. If File is set, Value is the name of a file on the
// reader's machine, which the snippet uploads first.
type Input struct {
	Name  string
	Value any
	File  bool
}

// Webhook has the settings of a webhook receiver.
type Webhook struct {
	Secret string // empty for PlaceholderSecret
}

// language renders programs in one language: a template for the statements and functions for
// the literals in it.
type language struct {
	Language
	template string                                 // name of the template, if it is not the ID
	text     func(string) string                    // a string literal
	body     func(inputs []field, depth int) string // a request's body, as an expression on a line indented by depth
	named    map[string]func(string) string         // other functions of its template
}

// all lists the languages in display order.
var all = []*language{curl, python, javascript, typescript, golang, php, ruby, java, csharp}

// Languages lists the languages in display order.
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

// renderers has the languages by ID. Their templates are parsed when the program starts, so
// an invalid template makes every test panic.
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

// onString adapts a function of one string to the arguments of templates. It panics if the
// first argument is not a string.
func onString(f func(string) string) func(args []any) string {
	return func(args []any) string { return f(args[0].(string)) }
}

// Render returns the snippet of a language for a mode. It fails only for an unknown language
// or mode.
func Render(lang string, m Mode, c Call) (string, error) {
	r, known := renderers[lang]
	if !known || !slices.Contains(Modes(), m) {
		return "", fmt.Errorf("there is no snippet in %q for %q", lang, m)
	}
	var b strings.Builder
	r.execute(&b, string(m), programOf(m, c))
	return strings.Trim(b.String(), "\n") + "\n", nil
}
