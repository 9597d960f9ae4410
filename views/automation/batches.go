package automation

import (
	"net/url"
	"strconv"
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
	Average      int64 // millionths of a dollar for each row that has ended
	Failures     []FailureRow
	Columns      []string
	Outputs      []string
	Results      []ResultRow
	OnlyFailed   bool
	Now          time.Time
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
	Micros  int64
}
