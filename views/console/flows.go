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

// FlowsPage is the list of flows with its filters.
type FlowsPage struct {
	// Ending are the keys in use that will soon expire; only owners see them.
	Ending []KeyWarning
	Filter FlowFilter
	// Tags are all tags of the workspace, for the filter.
	Tags  []string
	Flows []FlowCard
	// Starters are the sample flows; they are shown while the workspace has no flow.
	Starters []Starter
	Pages    components.Pages
	// MayEdit is false for viewers, who don't see controls that change flows.
	MayEdit bool
	// Archived is the number of flows in the archive.
	Archived int
	// Now is when the page was rendered; relative times refer to it.
	Now time.Time
}

// FlowFilter holds the query parameters of the list.
type FlowFilter struct {
	Query, Tag string
	Sort       FlowSort
	// Table shows rows in place of cards.
	Table bool
	// Archived shows the archive in place of active flows.
	Archived bool
}

// FlowSort is a sort order of the list.
type FlowSort string

// The sort orders. SortEdited is the default.
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

// FlowCard is one flow in the list, as a card or a row.
type FlowCard struct {
	ID, Name, Description string
	Tags                  []string
	Graph                 components.Graph
	// Version is the live version; 0 before the first publish.
	Version int
	// Differs is set if the draft differs from the live version.
	Differs  bool
	EditedAt time.Time
	EditedBy string
	Day      FlowDay
	// Archived is set if the flow is in the archive.
	Archived bool
}

// FlowDay summarizes the runs of a flow in the last 24 hours.
type FlowDay struct {
	// Hours has 24 bars, oldest first.
	Hours []components.Bar
	Runs  int
	// Succeeded is the share of ended runs that succeeded, from 0 to 1.
	Succeeded float64
	P95       time.Duration
	// Micros is the cost in millionths of a US dollar.
	Micros int64
}

func (c FlowCard) path() templ.SafeURL { return c.actionURL("") }

// actionURL returns the URL of an action on the flow. action starts with a slash; "" is the
// builder.
func (c FlowCard) actionURL(action string) templ.SafeURL {
	return templ.SafeURL("/flows/" + url.PathEscape(c.ID) + action)
}

// spark returns the chart of runs in each of the last 24 hours.
func (d FlowDay) spark() components.Sparkline {
	return components.Sparkline{Bars: d.Hours, Unit: "run", Span: "24 h"}
}

// tone colors the success rate: a warning below 90 %.
func (d FlowDay) tone() components.Tone {
	switch {
	case d.Runs == 0:
		return components.ToneNone
	case d.Succeeded < 0.9:
		return components.ToneBad
	}
	return components.ToneOK
}

// empty reports whether no filter is set.
func (f FlowFilter) empty() bool { return f.Query == "" && f.Tag == "" }

// with returns the URL of the list with one parameter changed.
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

// Values returns the filter as URL parameters, without defaults.
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

// tabs are the active flows and the archive.
func (f FlowsPage) tabs() []components.Tab {
	return []components.Tab{
		{Label: "Flows", Href: "/flows", Current: !f.Filter.Archived},
		{Label: "Archive", Href: "/flows?archived=1", Count: components.Count(f.Archived), Current: f.Filter.Archived},
	}
}

// version formats the number of a published version, as in "v3". Numbers start at 1.
func version(n int) string { return fmt.Sprintf("v%d", n) }

// missing explains why the list is empty.
func (f FlowFilter) missing() components.Empty {
	if f.Archived && f.empty() {
		return components.Empty{Icon: "archive", Title: "The archive is empty", Text: "Archived flows are hidden, and API calls to them return not_found. Their runs are kept. You can restore them at any time."}
	}
	return components.Empty{Icon: "search", Title: "Nothing found", Text: f.searching()}
}

// searching describes the filter that left the list empty.
func (f FlowFilter) searching() string {
	switch {
	case f.Query != "" && f.Tag != "":
		return fmt.Sprintf("No flow tagged “%s” has “%s” in its name or description.", f.Tag, f.Query)
	case f.Tag != "":
		return fmt.Sprintf("No flow is tagged “%s”.", f.Tag)
	}
	return fmt.Sprintf("No flow has “%s” in its name or description.", f.Query)
}
