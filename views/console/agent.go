package console

import (
	"fmt"
	"strconv"

	"sluice/views/components"
)

// AgentView is what the page of a run shows of one of its agents, besides the rows of its turns and
// calls in Waterfall.Rows.
type AgentView struct {
	Label, Model string
	// Facts replace those of the run.
	Facts []Fact
	// About is the version, who started the run, and when.
	About  []Fact
	Tokens []TurnTokens
	// Link selects the step of the agent. Current is set if it is selected.
	Link    RunLink
	Current bool
	Filters []AgentFilter
}

// AgentFilter is a kind of rows that can be shown alone.
type AgentFilter struct {
	Label   string
	Count   int
	Link    RunLink
	Current bool
}

// TurnTokens are the tokens of one turn.
type TurnTokens struct {
	Number              int
	Cached, New, Output int64
	Link                RunLink
	Current             bool
}

// sum returns the tokens of all turns.
func (a *AgentView) sum() (t TurnTokens) {
	for _, turn := range a.Tokens {
		t.Cached, t.New, t.Output = t.Cached+turn.Cached, t.New+turn.New, t.Output+turn.Output
	}
	return t
}

// most returns the largest number of tokens in a turn.
func (a *AgentView) most() (n int64) {
	for _, t := range a.Tokens {
		n = max(n, t.Cached+t.New+t.Output)
	}
	return n
}

// pitch returns the distance between two columns of the chart.
func (a *AgentView) pitch() float64 { return chartWidth / float64(max(len(a.Tokens), 7)) }

// Sizes of the chart of tokens in its own coordinates. SVG scales it to the width of the card.
const (
	chartWidth  = 308
	chartHeight = 92
	barShare    = 0.7 // of a column
)

// tokenPart is a part of a column.
type tokenPart struct {
	Class string
	Y, H  string
}

// parts returns the parts of a column, each at least 2 units high if it is not empty.
func (t TurnTokens) parts(most int64) (list []tokenPart) {
	y := float64(chartHeight)
	for _, p := range []struct {
		class string
		n     int64
	}{{"cached", t.Cached}, {"fresh", t.New}, {"output", t.Output}} {
		if p.n <= 0 {
			continue
		}
		h := max(2, float64(p.n)/float64(max(most, 1))*(chartHeight-8))
		y -= h
		list = append(list, tokenPart{p.class, decimal(y), decimal(h - 1)})
	}
	return list
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// left returns the left edge of the nth column, and x that of its bar.
func (a *AgentView) left(n int) string { return decimal(float64(n) * a.pitch()) }
func (a *AgentView) x(n int) string    { return decimal((float64(n) + (1-barShare)/2) * a.pitch()) }

// middle returns the middle of the nth column.
func (a *AgentView) middle(n int) string { return decimal((float64(n) + 0.5) * a.pitch()) }

// title describes the tokens of the turn.
func (t TurnTokens) title() string {
	return fmt.Sprintf("Turn %d: %s cached, %s new, %s output tokens", t.Number, components.Count(int(t.Cached)), components.Count(int(t.New)), components.Count(int(t.Output)))
}

// labeled reports whether the number of the nth column is written below it.
func (a *AgentView) labeled(n int) bool {
	switch count := len(a.Tokens); {
	case count <= 20:
		return true
	case count <= 60:
		return n == 0 || (n+1)%5 == 0
	}
	return n == 0 || (n+1)%20 == 0
}

// Thousands formats a number of tokens briefly: 884, 12.8K, 1.2M.
func Thousands(n int64) string {
	switch {
	case n >= 999_950:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 1000:
		return fmt.Sprintf("%.1fK", float64(n)/1e3)
	}
	return strconv.FormatInt(n, 10)
}

// CallMark is a word beside a call, such as Unknown.
type CallMark struct {
	Label string
	Tone  components.Tone
}

// CallView is a call of a tool in full.
type CallView struct {
	Tool, Where string
	Write       bool
	Edited      bool
	Arguments   []ArgumentView
	Bound       []ArgumentView
	// Request is the call as JSON, for copying.
	Request string
	// Key is the idempotency key.
	Key string
	// Unknown is set if the outcome is unknown.
	Unknown bool
	Fields  []ArgumentField
}

// ArgumentView is a value of a call. Was is the value that the model wrote, if a person has
// changed it.
type ArgumentView struct {
	components.ValueView
	Was    string
	Edited bool
	Source string // of a bound value
}

// ArgumentField is a field of the form that runs a call again with other arguments.
type ArgumentField struct {
	Name, Value, Help string
	Long              bool
}

// TurnView is a turn in full.
type TurnView struct {
	New     []TurnMessage // what is new in the request
	Of      int           // messages of the request
	AllPath string        // of the whole request, as JSON
	Answer  string
	Calls   []TurnCall
	// Reasoning is the readable part of the model's reasoning, and ReasoningTokens its length.
	Reasoning       string
	ReasoningTokens int64
	OutputTokens    int64
}

// TurnMessage is a message of a request.
type TurnMessage struct {
	Role  string // Model, User, or the tool
	Text  string
	Tool  string // of a call
	Bad   bool   // an error
	Model bool
}

// TurnCall is a call that a turn asked for.
type TurnCall struct {
	Tool, Brief, State, Icon, Group, Took string
	// Refused says why the call was not made.
	Refused string
	Link    *RunLink // nil for a call that was not made
}

// AgainView offers to run an agent again from a turn.
type AgainView struct {
	From, Label string
	// Writes are the calls that change something and would be made again.
	Writes []string
}

// writes says which calls would be made again.
func (a AgainView) writes() string {
	if len(a.Writes) == 0 {
		return ""
	}
	text := "Makes again: "
	for i, w := range a.Writes {
		if i > 0 {
			text += ", "
		}
		text += w
	}
	return text
}
