package editor

import (
	"net/url"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// APISnippets is code that calls the flow, in one language and manner.
type APISnippets struct {
	FlowID string
	// Language and Manner are the chosen ones.
	Language  APILanguage
	Manner    string
	Languages []APILanguage
	Manners   []string
	Code      []components.CodePiece
	// Live is the version that the code calls, 0 if only the draft is there.
	Live int64
	// Differs is set if the draft takes or gives something else.
	Differs bool
	MayTry  bool
}

// APILanguage is a language that the code can be in.
type APILanguage struct{ ID, Name string }

// mannerTitles say what the words of the switch mean.
var mannerTitles = map[string]string{
	"start":   "Start a run, then ask for its result",
	"wait":    "Wait for the result in one request",
	"stream":  "Stream what happens as it happens",
	"webhook": "Be called back, and check the signature",
}

func (s APISnippets) pick(lang string, manner string) string {
	return components.FlowPath(s.FlowID) + "/api?" + url.Values{"lang": {lang}, "manner": {manner}}.Encode()
}

// docs explains the chosen manner.
func (s APISnippets) docs() (href, words string) {
	if s.Manner == "webhook" {
		return "/docs/webhooks", "How webhooks are signed"
	}
	return "/docs/quickstart", "Quickstart"
}

// says which version the code is of.
func (s APISnippets) says() string {
	switch {
	case s.Live == 0:
		return "This is the draft’s API. Calls are refused until it is published."
	case s.Differs:
		return "This calls " + VersionName(s.Live) + ", which is live. The draft’s changes come with the next version."
	}
	return ""
}

// swap lets htmx take the section alone; without it the link leads to the page.
func (s APISnippets) swap(lang string, manner string) templ.Attributes {
	return templ.Attributes{"data-hx-get": s.pick(lang, manner) + "&part=snippets", "data-hx-target": "#api-snippets", "data-hx-swap": "outerMorph", "data-hx-sync": "#api-snippets:replace"}
}
