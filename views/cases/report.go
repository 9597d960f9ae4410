package cases

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// ReportFilter chooses the cases of a report, and the one that is open.
type ReportFilter struct {
	Cases string // "worse", "better", a state, or "" for all
	Tag   string
	Open  string // ID of a case
	With  int    // candidate that the open case shows
	Show  int    // cases
}

// ReportPage is the report of a test.
type ReportPage struct {
	FlowID, Flow string
	LiveVersion  int64
	MayEdit      bool
	ID, RunID    string
	State        string // of the run
	Lines        []ReportLine
	At, Now      time.Time
	Mode         string
	Cases        int
	Spent        int64     // millionths of a dollar
	Live         *Progress // nil once it has ended
	Candidates   []CandidateCard
	Baseline     int // index, or -1
	Pills        []ReportPill
	Filter       ReportFilter
	Rows         []ReportCase
	Matching     int
	Again        int // cases that match the filter or, without one, did not pass
	Open         *OpenCase
	Notes        string // what a person wrote about the report
	MaxNotes     int    // characters
}

// ReportLine sums up a candidate: the most important sentence, and the others.
type ReportLine struct{ Lead, Rest string }

// CandidateCard sums up a candidate.
type CandidateCard struct {
	Label, About  string
	Passed, Total int
	Worse, Better int
	Compared      bool // with the baseline
	Clear         bool
	Micros        int64
	Cost, Time    string // change from the baseline; "" without one
	P95           time.Duration
	Recorded      bool
	MayDraft      bool // it can become the draft
}

// share returns the share of the cases that pass, in percent.
func (c CandidateCard) share() string {
	if c.Total == 0 {
		return "0"
	}
	return components.Coordinate(100 * float64(c.Passed) / float64(c.Total))
}

// difference sums up the comparison with the baseline.
func (c CandidateCard) difference() string {
	switch {
	case c.Worse+c.Better == 0:
		return "no difference"
	case !c.Clear:
		return components.Count(c.Worse) + " worse, " + components.Count(c.Better) + " better: no clear difference"
	}
	return components.Count(c.Worse) + " worse, " + components.Count(c.Better) + " better"
}

// ReportPill is a filter of a report.
type ReportPill struct {
	Label, Cases, Tag string
	Count             int
}

// ReportCase is a row of a report.
type ReportCase struct {
	ID, Title string
	Tags      []string
	Cells     []ReportCell // by candidate
	Change    string       // "worse", "better" or ""
}

// ReportCell is the result of a case with a candidate.
type ReportCell struct {
	State          string
	Passed, Checks int
	Took           time.Duration
	Micros         int64
	Flaky          string
}

// text shows how many checks pass.
func (c ReportCell) text() string {
	if c.Checks == 0 {
		return ""
	}
	return components.Count(c.Passed) + " of " + components.Count(c.Checks)
}

// OpenCase is a case of a report with the outputs of the baseline, or the expected ones, and those of a candidate.
type OpenCase struct {
	ID, Title         string
	Tags              []string
	Exists            bool // it was not deleted since
	Inputs            []components.ValueView
	Before, After     string // labels
	BeforeRun         string
	AfterRun          string
	State, Message    string
	Outputs           []OutputDiff
	Checks            []CheckPair
	Choices           []Choice // other candidates
	Previous, Next    string   // IDs of cases; "" for none
	Expect, Unchanged bool
	Candidate         int
	Judges            []JudgeVerdict // that people can mark
}

// JudgeVerdict is what a judge says, with what people say of it.
type JudgeVerdict struct {
	Check               string // names it in requests
	Name, State, Reason string
	Repeat              int
	Marked              string // "right", "wrong", or "" without a mark
	Agreement           string // how often people agree with the judge
	Warning             string
}

// Choice is a candidate that an open case can show.
type Choice struct {
	Label     string
	Candidate int
	Current   bool
}

// OutputDiff is an output before and after, with marked differences.
type OutputDiff struct {
	Name          string
	Before, After []Piece
}

// Piece is a part of a text. Changed parts are only in one of two texts.
type Piece struct {
	Text    string
	Changed bool
}

// CheckPair is a check with its results before and after.
type CheckPair struct {
	Subject, Text string
	Before, After *CheckResult
}

// with returns the URL of the report with a filter.
func (p ReportPage) with(f ReportFilter) templ.SafeURL {
	q := url.Values{}
	for name, value := range map[string]string{"cases": f.Cases, "tag": f.Tag, "case": f.Open} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Open != "" && f.With > 0 {
		q.Set("with", strconv.Itoa(f.With))
	}
	if f.Show > ShownCases {
		q.Set("show", strconv.Itoa(f.Show))
	}
	at := ReportPath(p.FlowID, p.ID)
	if len(q) > 0 {
		at += "?" + q.Encode()
	}
	if f.Open != "" {
		at += "#open-case"
	}
	return templ.SafeURL(at)
}

// open returns the URL that opens a case.
func (p ReportPage) open(id string) templ.SafeURL {
	f := p.Filter
	f.Open = id
	return p.with(f)
}

// choose returns the URL that shows another candidate in the open case.
func (p ReportPage) choose(c Choice) templ.SafeURL {
	f := p.Filter
	f.With = c.Candidate
	return p.with(f)
}

func (p ReportPage) pill(k ReportPill) templ.SafeURL {
	return p.with(ReportFilter{Cases: k.Cases, Tag: k.Tag})
}

func (p ReportPage) chosen(k ReportPill) bool {
	return k.Cases == p.Filter.Cases && k.Tag == p.Filter.Tag
}

func (p ReportPage) more() templ.SafeURL {
	f := p.Filter
	f.Show = max(f.Show, ShownCases) + ShownCases
	return p.with(f)
}

// path returns the URL of an act.
func (p ReportPage) path(rest string) templ.SafeURL {
	return templ.SafeURL(ReportPath(p.FlowID, p.ID) + rest)
}

func (p ReportPage) poll() string {
	at, _, _ := strings.Cut(string(p.with(p.Filter)), "#")
	if strings.Contains(at, "?") {
		return at + "&part=body"
	}
	return at + "?part=body"
}

func (p ReportPage) pollID() string { return "poll-" + strconv.FormatInt(p.Now.UnixMilli(), 36) }

// leadPiece is a part of the first sentence of a report.
type leadPiece struct {
	Text string
	Case string // that it names, or ""
}

// caseID matches what may be the ID of a case.
var caseID = regexp.MustCompile(`[a-z0-9][a-z0-9_-]*`)

// lead returns the most important sentence of all. The cases that it names in parentheses are pieces of their own.
func (p ReportPage) lead() (pieces []leadPiece) {
	first := ""
	if len(p.Lines) > 0 {
		first = p.Lines[0].Lead
	}
	changed := map[string]bool{}
	for i := range p.Rows {
		changed[p.Rows[i].ID] = p.Rows[i].Change != ""
	}
	names, end := strings.LastIndex(first, "("), 0
	for _, at := range caseID.FindAllStringIndex(first, -1) {
		if id := first[at[0]:at[1]]; names >= 0 && at[0] > names && changed[id] {
			pieces = append(pieces, leadPiece{Text: first[end:at[0]]}, leadPiece{Text: id, Case: id})
			end = at[1]
		}
	}
	return append(pieces, leadPiece{Text: first[end:]})
}

// rest returns what follows the first sentence, a line for each candidate.
func (p ReportPage) rest() (list []string) {
	for i, l := range p.Lines {
		text := l.Rest
		if i > 0 {
			text = l.Lead + " " + l.Rest
		}
		list = append(list, text)
	}
	return list
}

// about sums up what was tested.
func (p ReportPage) about() string {
	text := components.Quantity(p.Cases, "case") + ", " + components.Quantity(len(p.Candidates), "candidate") + " · " + modeLabel(p.Mode)
	if p.Spent > 0 {
		text += " · spent " + components.Money(p.Spent)
	}
	return text
}

// again labels the button that runs cases again.
func (p ReportPage) again() string {
	if p.Filter.Cases == "" && p.Filter.Tag == "" {
		return "Rerun " + components.Count(p.Again) + " that didn’t pass"
	}
	return "Rerun these " + components.Count(p.Again)
}

// formats are the forms in which a report can be downloaded.
var formats = []components.Option{{Value: "json", Label: "JSON"}, {Value: "csv", Label: "CSV"}, {Value: "junit", Label: "JUnit"}, {Value: "markdown", Label: "Markdown"}}

// changeWord says how a case changed.
func changeWord(change string) string {
	switch change {
	case "worse":
		return "Worse"
	case "better":
		return "Better"
	}
	return "Same"
}
