package automation

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// BatchesPath returns the path of the batches of a flow.
func BatchesPath(flowID string) string { return components.FlowPath(flowID) + "/batches" }

// BatchPath returns the path of the page of a batch.
func BatchPath(flowID, id string) string { return BatchesPath(flowID) + "/" + url.PathEscape(id) }

// BatchesPage lists the batches of a flow, and starts one.
type BatchesPage struct {
	FlowID, Flow string
	LiveVersion  int64
	MayEdit      bool
	Batches      []BatchRow
	Pages        components.Pages
	Error        string // of an upload
	Now          time.Time
}

// BatchRow is a batch in a list.
type BatchRow struct {
	ID, Name, State string
	Sample          bool
	Rows            BatchCounts
	Micros          int64 // cost, in millionths of a dollar
	StartedAt       time.Time
}

// BatchCounts counts the rows of a batch. Total is -1 until all are read.
type BatchCounts struct{ Total, Pending, Running, Succeeded, Failed int }

// finished returns how many rows have ended.
func (c BatchCounts) finished() int { return c.Succeeded + c.Failed }

// part is a stretch of the bar of a batch.
type part struct {
	class    string
	x, width string
}

// parts returns the bar of a batch: succeeded, failed and running rows.
func (c BatchCounts) parts() (list []part) {
	if c.Total <= 0 {
		return nil
	}
	x := 0.0
	for _, p := range []struct {
		class string
		n     int
	}{{"done", c.Succeeded}, {"failed", c.Failed}, {"running", c.Running}} {
		width := 100 * float64(p.n) / float64(c.Total)
		if p.n > 0 {
			list = append(list, part{p.class, components.Coordinate(x), components.Coordinate(width)})
		}
		x += width
	}
	return list
}

// words describes the counts.
func (c BatchCounts) words() string {
	if c.Total < 0 {
		return "Reading rows"
	}
	return components.Count(c.finished()) + " of " + components.Quantity(c.Total, "row")
}

// NewBatchPage is the page that maps the columns of a table to the inputs of the flow.
type NewBatchPage struct {
	FlowID, Flow string
	LiveVersion  int64
	File, Name   string // ID and name of the table
	Columns      []string
	First        [][]string // cells of the first rows
	Inputs       []ColumnField
	Concurrency  string
	OnError      string
	OnInvalid    string
	MaxUSD       string
	Errors       components.Errors
	Problems     []string // of rows
}

// ColumnField says which column an input comes from.
type ColumnField struct {
	Name, Type string
	Required   bool
	Column     string // "" for none, ColumnExpression for an expression
	Text       string
	Columns    []components.Option
	Error      string
}

// ColumnExpression is the value of ColumnField.Column for an expression over row.
const ColumnExpression = "+cel"

var (
	onErrorOptions   = []components.Option{{Value: "keep", Label: "Keep going"}, {Value: "stop", Label: "Stop"}}
	onInvalidOptions = []components.Option{{Value: "fail", Label: "Start nothing"}, {Value: "skip", Label: "Skip it"}}
)

// BatchPage is the page of one batch.
type BatchPage struct {
	FlowID, Flow string
	LiveVersion  int64
	ID, Name     string
	State        string
	Error        string
	Sample       int
	Estimate     *BatchEstimate
	Paused       bool
	Live, MayRun bool
	Version      int64
	StartedBy    string
	StartedAt    time.Time
	Took         time.Duration
	Left         time.Duration // estimated; 0 if unknown
	Concurrency  int
	OnError      string
	Rows         BatchCounts
	Micros       int64
	Average      int64        // millionths of a dollar for each row that has ended
	MaxMicros    int64        // what the batch may cost; 0 without a limit
	Budget       *BatchBudget // that rows wait for; nil without one
	Cells        []string     // state of each group of rows, in order
	CellRows     int          // rows of a cell
	Canceled     int          // part of Rows.Failed
	Failures     []FailureRow
	Columns      []string
	Outputs      []string
	Results      []ResultRow
	Filter       BatchFilter
	Now          time.Time
}

// BatchBudget is a daily budget that is used up.
type BatchBudget struct {
	Amount   string // such as "$15.00" or "100 runs"
	Micros   int64  // of a budget in dollars
	ResetsAt time.Time
	Href     string // where it can be raised; "" for the owner of a key
}

// BatchFilter chooses the rows that are listed.
type BatchFilter struct {
	State, Code, Text string
	Show              int // rows
}

// RowsShown is how many rows a page lists at first, and how many more a link adds.
const RowsShown, MoreRows, MaxRowsShown = 50, 100, 1_050

// with returns the URL of the page with a filter.
func (b BatchPage) with(f BatchFilter) templ.SafeURL {
	q := url.Values{}
	for name, value := range map[string]string{"state": f.State, "code": f.Code, "q": f.Text} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Show > RowsShown {
		q.Set("show", strconv.Itoa(f.Show))
	}
	if len(q) == 0 {
		return b.path("")
	}
	return b.path("?" + q.Encode())
}

// poll returns the URL of the part of the page that changes.
func (b BatchPage) poll() string {
	at := string(b.with(b.Filter))
	if strings.Contains(at, "?") {
		return at + "&part=body"
	}
	return at + "?part=body"
}

// statePill is a filter by state.
type statePill struct {
	State, Label string
	Count        int
	Href         templ.SafeURL
	Current      bool
}

// pills returns the filters by state. States without rows are left out, except for the one that is chosen.
func (b BatchPage) pills() (list []statePill) {
	for _, p := range []statePill{
		{"", "All", max(0, b.Rows.Total), "", false}, {"done", "Done", b.Rows.Succeeded, "", false}, {"running", "Running", b.Rows.Running, "", false},
		{"failed", "Failed", b.Rows.Failed - b.Canceled, "", false}, {"canceled", "Canceled", b.Canceled, "", false}, {"waiting", b.waitingWord(), b.Rows.Pending, "", false},
	} {
		if p.Current = p.State == b.Filter.State && b.Filter.Code == ""; p.Count == 0 && p.State != "" && !p.Current {
			continue
		}
		p.Href = b.with(BatchFilter{State: p.State, Text: b.Filter.Text})
		list = append(list, p)
	}
	return list
}

// waitingWord says what rows without a run do.
func (b BatchPage) waitingWord() string {
	if b.Live {
		return "Waiting"
	}
	return "Not started"
}

// cellLabel describes the cells for screen readers.
func (b BatchPage) cellLabel() string {
	var parts []string
	for _, p := range b.pills()[1:] {
		parts = append(parts, components.Count(p.Count)+" "+strings.ToLower(p.Label))
	}
	return strings.Join(parts, ", ")
}

// scale returns the numbers of the rows at which lines of cells begin; nil for a single line.
func (b BatchPage) scale() (list []string) {
	for at := 0; at < len(b.Cells) && len(b.Cells) > cellsInLine; at += cellsInLine {
		list = append(list, components.Count(at*b.CellRows+1))
	}
	return list
}

// cellsInLine is the number of cells in a line.
const cellsInLine = 100

// estimate returns what all rows will cost, by the average of those that have ended, or 0 if none has.
func (b BatchPage) estimate() int64 {
	if b.Rows.finished() == 0 || b.Rows.Total < 0 {
		return 0
	}
	return b.Average * int64(b.Rows.Total)
}

// costBar returns the parts of the bar of the cost: what was spent, what the rest is expected to cost, and where the budget of the
// day ends, in percent of the largest amount. budget is "" without one.
func (b BatchPage) costBar() (spent, rest, budget string) {
	most := max(b.Micros, b.estimate(), b.MaxMicros, 1)
	if b.Budget != nil {
		most = max(most, b.Budget.Micros)
		if b.Budget.Micros > 0 {
			budget = components.Coordinate(100 * float64(b.Budget.Micros) / float64(most))
		}
	}
	return components.Coordinate(100 * float64(b.Micros) / float64(most)), components.Coordinate(100 * float64(max(0, b.estimate()-b.Micros)) / float64(most)), budget
}

// rowsLeft says what a budget keeps from running.
func (b BatchPage) rowsLeft() string {
	n := b.Rows.Pending + b.Rows.Running
	text := components.Quantity(n, "row") + " left"
	if b.Rows.finished() > 0 && b.Average > 0 {
		text += ", for about " + components.Money(b.Average*int64(n))
	}
	return text + "."
}

// again labels the button that repeats rows.
func (b BatchPage) again() string {
	switch {
	case b.Rows.Pending > 0:
		return "Run the other " + components.Count(b.Rows.Pending+b.Rows.Failed) + " rows"
	case b.Rows.Failed > 0:
		return "Retry " + components.Count(b.Rows.Failed) + " failed"
	}
	return ""
}

// path returns the URL of an act of the batch.
func (b BatchPage) path(rest string) templ.SafeURL {
	return templ.SafeURL(BatchPath(b.FlowID, b.ID) + rest)
}

// pollID returns an ID that differs in each response; see Capture.pollID.
func (b BatchPage) pollID() string { return "poll-" + strconv.FormatInt(b.Now.UnixMilli(), 36) }

// onErrorWord says what a failed row does.
func (b BatchPage) onErrorWord() string {
	if b.OnError == "stop" {
		return "Stop"
	}
	return "Keep going"
}

// BatchEstimate is what all rows would take, by those of a sample.
type BatchEstimate struct {
	Rows   int
	More   bool // there are more rows than were counted
	Micros int64
	Took   time.Duration
}

// FailureRow is a group of failures with one code.
type FailureRow struct {
	Count              int
	Code, Text, Advice string
}

// filter lists the rows of the group.
func (f FailureRow) filter() BatchFilter { return BatchFilter{State: "failed", Code: f.Code} }

// soFar follows the cost of the batch.
func (b BatchPage) soFar() string {
	if b.Live {
		return " so far"
	}
	return " in total"
}

// ResultCell is an output, shortened. Full is the number that was rounded, or "".
type ResultCell struct{ Text, Full string }

// ResultRow is a row of the table with its result.
type ResultRow struct {
	Number  int
	State   string
	Inputs  []string
	Outputs []ResultCell
	Code    string
	RunID   string
	Tries   int
	Took    time.Duration // 0 if it has not ended
	Micros  int64
}
