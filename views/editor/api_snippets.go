package editor

import (
	"net/url"

	"sluice/snippets"
	"sluice/views/components"

	"github.com/a-h/templ"
)

// APISnippets is code that calls the flow, in one language and manner.
type APISnippets struct {
	FlowID string
	// Language and Manner are the chosen ones.
	Language  snippets.Language
	Manner    snippets.Manner
	Languages []snippets.Language
	Code      []snippets.Token
	// Live is the version that the code calls, 0 if only the draft is there.
	Live int64
	// Differs tells that the draft takes or gives something else.
	Differs bool
	MayTry  bool
}

// mannerTitles say what the words of the switch mean.
var mannerTitles = map[snippets.Manner]string{
	snippets.MannerStart:   "Start a run, then ask for its result",
	snippets.MannerWait:    "Wait for the result in one request",
	snippets.MannerStream:  "Stream what happens as it happens",
	snippets.MannerWebhook: "Be called back, and check the signature",
}

func (s APISnippets) pick(lang string, m snippets.Manner) string {
	return components.FlowPath(s.FlowID) + "/api?" + url.Values{"lang": {lang}, "manner": {string(m)}}.Encode()
}

// docs explains the chosen manner.
func (s APISnippets) docs() (href, words string) {
	if s.Manner == snippets.MannerWebhook {
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
func (s APISnippets) swap(lang string, m snippets.Manner) templ.Attributes {
	return templ.Attributes{"data-hx-get": s.pick(lang, m) + "&part=snippets", "data-hx-target": "#api-snippets", "data-hx-swap": "outerMorph", "data-hx-sync": "#api-snippets:replace"}
}
