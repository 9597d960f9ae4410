// Package cases renders the pages of the tests of a flow: its cases, the form of a case, reports, and the page that compares candidates.
package cases

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// ListPath returns the path of the cases of a flow.
func ListPath(flowID string) string { return components.FlowPath(flowID) + "/tests" }

// NewPath returns the path of the form of a new case.
func NewPath(flowID string) string { return ListPath(flowID) + "/new" }

// CasePath returns the path of the form of a case.
func CasePath(flowID, id string) string { return ListPath(flowID) + "/cases/" + url.PathEscape(id) }

// ReportPath returns the path of the report of a test.
func ReportPath(flowID, id string) string {
	return ListPath(flowID) + "/reports/" + url.PathEscape(id)
}

// ShownCases is how many cases a list has at first, and how many more a link adds.
const ShownCases = 100

// Filter chooses the cases of a list.
type Filter struct {
	State, Tag string
	Open       string // ID of the case that is open; "" for none
	Show       int    // cases
}

// query returns the part of a URL that says the filter, with a leading ?, or "".
func (f Filter) query() string {
	q := url.Values{}
	for name, value := range map[string]string{"state": f.State, "tag": f.Tag, "case": f.Open} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Show > ShownCases {
		q.Set("show", strconv.Itoa(f.Show))
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// Pill is a filter with the number of its cases.
type Pill struct {
	Label, State, Tag string
	Count             int
}

// ListPage lists the cases of a flow with what the latest tests of the draft say about them.
type ListPage struct {
	FlowID, Flow string
	LiveVersion  int64
	MayEdit      bool
	Filter       Filter
	Total        int // of all cases
	Matching     int // of those that match the filter
	Pills        []Pill
	Rows         []Row
	Live         *Progress // of the test in progress; nil without one
	Mode         string
	Failed       int // cases that failed or are stale
	Gate         string
	Reports      []ReportRow
	Problem      string // why the draft cannot be tested
	Now          time.Time
	AtMost       string              // what running all calls, and costs at most
	Writers      []components.Option // nodes that may change something outside
}

// Row is a case in a list.
type Row struct {
	ID, Title, State, Message string
	Tags                      []string
	Passed, Checks            int // of the last run
	Took                      time.Duration
	Micros                    int64
	Flaky                     string
	Old                       bool // the result is of another draft, or of the case before a change
	FromRun                   bool
	Detail                    *Detail // if it is open
}

// Detail is what an open case shows.
type Detail struct {
	Inputs    []components.ValueView
	Checks    []CheckResult
	Outputs   []components.ValueView
	RunID     string // of the last run; "" without one
	TestID    string // of the last run, with its candidate
	Candidate int
	Notes     string
	Source    string // ID of the run that it was made from
	Picture   components.Picture
	Live      bool // the run is in progress
	Expect    bool // the outputs of the last run can become the expected ones
}

// CheckResult is a check with what it says about a run.
type CheckResult struct {
	Subject string // an output, or "run"
	Text    string // what is checked
	Reason  string
	State   string // "" if the case has not run
	Watch   bool
	Score   string
}

// Progress is a test that has not ended.
type Progress struct {
	TestID      string
	Done, Total int
}

// words describes the progress.
func (p *Progress) words() string {
	return components.Count(p.Done) + " of " + components.Quantity(p.Total, "run") + " done"
}

// ReportRow is a test in a list.
type ReportRow struct {
	ID, State, Summary string
	Mode               string
	Cases              int
	At                 time.Time
}

// with returns the URL of the page with a filter.
func (p ListPage) with(f Filter) templ.SafeURL {
	at := ListPath(p.FlowID) + f.query()
	if f.Open != "" {
		at += "#case-" + url.PathEscape(f.Open)
	}
	return templ.SafeURL(at)
}

// pill returns the URL of a pill, and whether it is chosen.
func (p ListPage) pill(k Pill) (to templ.SafeURL, chosen bool) {
	return p.with(Filter{State: k.State, Tag: k.Tag}), k.State == p.Filter.State && k.Tag == p.Filter.Tag
}

// toggle returns the URL that opens a case, or closes the open one.
func (p ListPage) toggle(r Row) templ.SafeURL {
	f := p.Filter
	if f.Open = r.ID; r.Detail != nil {
		f.Open = ""
	}
	return p.with(f)
}

// more returns the URL that lists more cases.
func (p ListPage) more() templ.SafeURL {
	f := p.Filter
	f.Show = max(f.Show, ShownCases) + ShownCases
	return p.with(f)
}

// poll returns the URL of the part of the page that changes.
func (p ListPage) poll() string {
	at := ListPath(p.FlowID) + p.Filter.query()
	if strings.Contains(at, "?") {
		return at + "&part=body"
	}
	return at + "?part=body"
}

// estimate returns the URL of what running the cases will call and cost.
func (p ListPage) estimate() string {
	return ListPath(p.FlowID) + "?part=estimate"
}

// pollID returns an ID that differs in each response, so that the element asks again.
func (p ListPage) pollID() string { return "poll-" + strconv.FormatInt(p.Now.UnixMilli(), 36) }

// checked describes how many checks pass.
func (r Row) checked() string {
	if r.Checks == 0 {
		return "–"
	}
	return components.Count(r.Passed) + " of " + components.Count(r.Checks)
}

// Modes are the modes of tests with their labels.
var Modes = []components.Option{{Value: "fill", Label: "Recorded, call what’s missing"}, {Value: "replay", Label: "Recorded only"}, {Value: "live", Label: "Call everything"}}

// modeLabel returns the label of a mode.
func modeLabel(mode string) string {
	for _, o := range Modes {
		if o.Value == mode {
			return o.Label
		}
	}
	return mode
}

// tone returns the color of the message of a state.
func tone(state string) string {
	switch state {
	case "failed":
		return "bad"
	case "errored", "stale":
		return "wait"
	}
	return "muted"
}

func pillURL(l ListPage, k Pill) templ.SafeURL { to, _ := l.pill(k); return to }

func chosen(l ListPage, k Pill) bool { _, is := l.pill(k); return is }

func testsURL(flowID string) templ.SafeURL { return templ.SafeURL(ListPath(flowID)) }

func caseURL(flowID, id string) templ.SafeURL { return templ.SafeURL(CasePath(flowID, id)) }

func reportURL(flowID, id string) templ.SafeURL { return templ.SafeURL(ReportPath(flowID, id)) }

func whole(n int) string { return strconv.Itoa(n) }

func atLeastOne(n int) string { return whole(max(1, n)) }

// pressed marks a button as the one that was chosen.
func pressed(is bool) templ.Attributes {
	return templ.Attributes{"aria-pressed": strconv.FormatBool(is)}
}

// canvasURL returns the URL of the canvas with the states of a run, which follow it while it runs.
func canvasURL(flowID, runID string) string {
	return components.FlowPath(flowID) + "?run=" + url.QueryEscape(runID)
}

// formOf lets a button outside of a form submit it.
func formOf(id string) templ.Attributes { return templ.Attributes{"form": id} }

// signOf returns the icon and the color of the state of a case or a check.
func signOf(state string) components.StateSign { return components.SignOf(state) }

// stateWord returns the word for a state of a case.
func stateWord(state string) string {
	switch state {
	case "":
		return "Not run yet"
	case "errored":
		return "Error"
	}
	return strings.ToUpper(state[:1]) + state[1:]
}
