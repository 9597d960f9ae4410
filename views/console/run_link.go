package console

import (
	"net/url"
	"strconv"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// RunLink is the view state of a run's page in the URL: the selected step and the filter of a
// map's items.
type RunLink struct {
	RunID string
	Step  string // path of the selected step, or each[3] for an item
	Tab   string // one of StepTabs; "" is the one that suits the step
	Only  string // turns, tools, errors or approvals of an agent; "" is all
	Of    string // path of the step whose items are filtered
	// State, Code and Text filter these items; Show is how many are listed.
	State, Code, Text string
	Show              int
}

// query returns the link's URL parameters. Empty values and a Show of 0 are left out,
// so that the same view always has the same URL.
func (l RunLink) query() url.Values {
	q := url.Values{}
	for _, p := range [][2]string{{"step", l.Step}, {"tab", l.Tab}, {"only", l.Only}, {"of", l.Of}, {"items", l.State}, {"code", l.Code}, {"q", l.Text}} {
		if p[1] != "" {
			q.Set(p[0], p[1])
		}
	}
	if l.Show > 0 {
		q.Set("show", strconv.Itoa(l.Show))
	}
	return q
}

// Path returns the URL of the page.
func (l RunLink) Path() string {
	if q := l.query().Encode(); q != "" {
		return components.RunPath(l.RunID) + "?" + q
	}
	return components.RunPath(l.RunID)
}

// events returns the URL that waits for changes after the change numbered seen.
func (l RunLink) events(seen int64) string {
	q := l.query()
	q.Set("seen", strconv.FormatInt(seen, 10))
	return components.RunPath(l.RunID) + "/events?" + q.Encode()
}

// Attrs returns htmx attributes, so that a link updates the page without reloading it.
func (l RunLink) Attrs() templ.Attributes {
	return templ.Attributes{
		"data-hx-get": l.Path(), "data-hx-target": "#run", "data-hx-select": "#run",
		"data-hx-swap": "outerMorph", "data-hx-replace-url": "true",
	}
}

// WithStep returns the link with another step selected.
func (l RunLink) WithStep(path string) RunLink {
	l.Step = path
	return l
}

// WithTab returns the link with another tab of the step.
func (l RunLink) WithTab(tab string) RunLink {
	l.Tab = tab
	return l
}

// WithOnly returns the link with other rows of an agent.
func (l RunLink) WithOnly(only string) RunLink {
	l.Only = only
	return l
}

// with returns the link with other filters for the same step's items.
func (l RunLink) with(state, code string) RunLink {
	l.State, l.Code, l.Show = state, code, 0
	return l
}

// ItemPath returns the path of an item of a step, such as each[3].
func ItemPath(step string, item int) string { return step + "[" + strconv.Itoa(item) + "]" }

// StepPath returns the URL of a run with a step selected.
func StepPath(runID, path string) string { return RunLink{RunID: runID, Step: path}.Path() }
