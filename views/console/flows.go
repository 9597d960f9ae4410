// Package console renders the lists and pages outside the editor: flows, runs,
// keys, credentials, webhooks and deliveries, usage, limits, audit log, settings
// and models. It knows nothing of stores, sessions or requests.
package console

import (
	"fmt"
	"net/url"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// FlowsPage is the list of flows with what narrows it.
type FlowsPage struct {
	// Ending are keys in use that stop soon, for owners.
	Ending []KeyWarning
	Filter FlowFilter
	// Tags are all tags of the workspace, to choose from.
	Tags  []string
	Flows []FlowCard
	// Starters are the flows that come with Sluice; shown while the workspace has no flow.
	Starters []Starter
	Pages    components.Pages
	// MayEdit is false for viewers: nothing that changes a flow is shown then.
	MayEdit bool
	// Archived is how many flows are in the archive.
	Archived int
	// Now is when the page was made; times are said in relation to it.
	Now time.Time
}

// FlowFilter is what the address of the list says.
type FlowFilter struct {
	Query, Tag string
	Sort       FlowSort
	// Table shows rows instead of cards.
	Table bool
	// Archived shows the archive instead.
	Archived bool
}

// FlowSort orders the list.
type FlowSort string

// The orders of the list. SortEdited is the one when none is chosen.
const (
	SortEdited FlowSort = "edited"
	SortName   FlowSort = "name"
	SortRuns   FlowSort = "runs"
	SortCost   FlowSort = "cost"
)

// flowSorts are the sort orders of the list, as its menu shows them. The first is the
// default.
var flowSorts = []components.Option{
	{Value: string(SortEdited), Label: "Last edited"}, {Value: string(SortName), Label: "Name"}, {Value: string(SortRuns), Label: "Most runs"}, {Value: string(SortCost), Label: "Highest cost"},
}

// FlowCard is one flow as the list shows it.
type FlowCard struct {
	ID, Name, Description string
	Tags                  []string
	Graph                 components.Graph
	// Version is the live one; 0 before the first publish.
	Version int
	// Differs is set if the draft is not what is live.
	Differs  bool
	EditedAt time.Time
	EditedBy string
	Day      FlowDay
	// Archived is set if the flow is in the archive.
	Archived bool
}

// FlowDay is what a flow did in the last 24 hours.
type FlowDay struct {
	// Hours are 24, the oldest first.
	Hours []components.Bar
	Runs  int
	// Succeeded is the share of the ended runs, from 0 to 1.
	Succeeded float64
	P95       time.Duration
	// Micros is the cost in millionths of a US dollar.
	Micros int64
}

func (c FlowCard) path() templ.SafeURL { return c.to("") }

// to is the address of something that can be done with the flow.
func (c FlowCard) to(what string) templ.SafeURL {
	return templ.SafeURL("/flows/" + url.PathEscape(c.ID) + what)
}

// spark returns the chart of runs in each of the last 24 hours.
func (d FlowDay) spark() components.Sparkline {
	return components.Sparkline{Bars: d.Hours, Unit: "runs", Span: "24 h"}
}

// tone of a success rate: below nine in ten somebody should look.
func (d FlowDay) tone() components.Tone {
	switch {
	case d.Runs == 0:
		return components.ToneNone
	case d.Succeeded < 0.9:
		return components.ToneBad
	}
	return components.ToneOK
}

// empty reports whether nothing narrows the list.
func (f FlowFilter) empty() bool { return f.Query == "" && f.Tag == "" }

// with gives the address of the list with one thing changed.
func (f FlowFilter) with(name, value string) templ.SafeURL {
	q := f.Values()
	q.Set(name, value)
	if value == "" {
		q.Del(name)
	}
	if len(q) == 0 {
		return "/flows"
	}
	return templ.SafeURL("/flows?" + q.Encode())
}

// Values are the filter as the address of the list has it.
func (f FlowFilter) Values() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"q": f.Query, "tag": f.Tag, "sort": string(f.Sort), "view": f.view(), "archived": f.archive()} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// archive returns the value of the parameter "archived". It is empty for the default,
// which Values leaves out of the URL.
func (f FlowFilter) archive() string {
	if f.Archived {
		return "1"
	}
	return ""
}

// view returns the value of the parameter "view": "table", or empty for cards, the
// default.
func (f FlowFilter) view() string {
	if f.Table {
		return "table"
	}
	return ""
}

// tabs are the two places where flows are.
func (f FlowsPage) tabs() []components.Tab {
	return []components.Tab{
		{Label: "Flows", Href: "/flows", Current: !f.Filter.Archived},
		{Label: "Archive", Href: "/flows?archived=1", Count: components.Count(f.Archived), Current: f.Filter.Archived},
	}
}

// version formats the number of a published version, as in "v3". Numbers start at 1.
func version(n int) string { return fmt.Sprintf("v%d", n) }

// missing says why a list is empty.
func (f FlowFilter) missing() components.Empty {
	if f.Archived && f.empty() {
		return components.Empty{Icon: "archive", Title: "The archive is empty", Text: "A flow that is archived is out of the list, its API answers not_found, and its runs stay. It can be restored at any time."}
	}
	return components.Empty{Icon: "search", Title: "Nothing found", Text: f.searching()}
}

// searching says what a list that a filter left empty was searched for.
func (f FlowFilter) searching() string {
	switch {
	case f.Query != "" && f.Tag != "":
		return fmt.Sprintf("No flow tagged “%s” has “%s” in its name or description.", f.Tag, f.Query)
	case f.Tag != "":
		return fmt.Sprintf("No flow is tagged “%s”.", f.Tag)
	}
	return fmt.Sprintf("No flow has “%s” in its name or description.", f.Query)
}
