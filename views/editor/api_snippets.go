package editor

import (
	"net/url"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// APISnippets is sample code that calls the flow, in one language and calling style.
type APISnippets struct {
	FlowID string
	// Language and Mode are the selected language and style.
	Language  APILanguage
	Mode      string
	Languages []APILanguage
	Modes     []string
	Code      []components.CodePiece
	// Live is the version that the code calls; 0 if nothing is published.
	Live int64
	// Differs is set if the draft has another interface than the live version.
	Differs bool
	MayTry  bool
}

// APILanguage is a programming language of the samples.
type APILanguage struct{ ID, Name string }

// modeTitles are the tooltips of the calling styles.
var modeTitles = map[string]string{
	"start":   "Start a run, then poll for its result",
	"wait":    "Wait for the result in one request",
	"stream":  "Stream events as they happen",
	"webhook": "Receive a webhook and verify its signature",
}

func (s APISnippets) pick(lang string, mode string) string {
	return components.FlowPath(s.FlowID) + "/api?" + url.Values{"lang": {lang}, "manner": {mode}}.Encode()
}

// docs returns the link to the documentation of the selected style.
func (s APISnippets) docs() (href, words string) {
	if s.Mode == "webhook" {
		return "/docs/webhooks", "How webhooks are signed"
	}
	return "/docs/quickstart", "Quickstart"
}

// says explains which version the code calls.
func (s APISnippets) says() string {
	switch {
	case s.Live == 0:
		return "This is the draft’s API. Calls are refused until it is published."
	case s.Differs:
		return "This calls " + VersionName(s.Live) + ", which is live. The draft’s changes come with the next version."
	}
	return ""
}

// swap returns htmx attributes that replace only the section; without scripts, the link loads
// the page.
func (s APISnippets) swap(lang string, mode string) templ.Attributes {
	return templ.Attributes{"data-hx-get": s.pick(lang, mode) + "&part=snippets", "data-hx-target": "#api-snippets", "data-hx-swap": "outerMorph", "data-hx-sync": "#api-snippets:replace"}
}
