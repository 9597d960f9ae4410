package console

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/flow/wording"
	"sluice/views/components"

	"github.com/a-h/templ"
)

// Waterfall is the list of a run's steps with their times on one axis.
type Waterfall struct {
	// Span is the length of the time axis.
	Span time.Duration
	Rows []WaterfallRow
	// Cut is set if the axis leaves out time in which the run only waited.
	Cut bool
	// States counts the steps of the flow itself by state.
	States map[string]int
}

// WaterfallRow is one step in the list.
type WaterfallRow struct {
	Path, Label, State string
	Icon, Group        string // of the kind
	// Heading is set for a row that is only a heading.
	Heading string
	// Depth is the nesting level of the step.
	Depth int
	Bars  []WaterfallBar
	// Note is shown in place of bars.
	Note     string
	Tries    int
	Duration time.Duration
	Began    bool
	// Cost is "" for a step that has no cost.
	Cost    string
	Link    RunLink
	Current bool
	// Failures are the times at which items of the step failed.
	Failures []time.Duration
	// Unfolds is set for a step with rows of its own below it, Open if they are shown.
	Unfolds, Open bool
	// Turn is the number of the turn of an agent that the row belongs to; "" for other rows. IsTurn is
	// set for the row of the turn itself.
	Turn   string
	IsTurn bool
	// Brief is the beginning of the arguments of a call, or why it failed if Bad is set.
	Brief string
	Bad   bool
	// Times is the number of equal calls that the row stands for.
	Times int
	Mark  *CallMark
	// Bracket joins calls that were made at the same time: first, middle, last or "".
	Bracket string
	// Tokens are those of a turn, and CachedShare says how many of them came from a cache.
	Tokens, CachedShare string
	// Inside is set for rows that do not belong to the flow itself.
	Inside bool
}

// WaterfallBar is one attempt or the wait before the next one. From and To are relative to the
// start of the axis.
type WaterfallBar struct {
	From, To time.Duration
	// State is the state of the attempt: succeeded, failed or retrying; "pause" is a wait.
	State string
	Title string
	// Label is written before a wait that the axis leaves out.
	Label string
}

// thinnest is the minimum width of a bar in percent of the axis, so that a step of a
// millisecond is visible.
const thinnest = 2

// percent returns a time since the start of the run as a percentage of the axis, from 0
// to 100. It is 0 while the axis has no length.
func (w Waterfall) percent(d time.Duration) float64 {
	if w.Span <= 0 {
		return 0
	}
	return min(max(100*float64(d)/float64(w.Span), 0), 100)
}

// x returns the left edge of a bar. It leaves room for the thinnest bar at the right
// end, so that a last step of no duration stays visible.
func (w Waterfall) x(b WaterfallBar) string {
	return percent(min(w.percent(b.From), 100-thinnest))
}

// width returns the width of a bar, at least thinnest: steps of microseconds would be
// invisible otherwise.
func (w Waterfall) width(b WaterfallBar) string {
	return percent(max(w.percent(b.To)-w.percent(b.From), thinnest))
}

func percent(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) + "%" }

// ticks returns the times at the start of each third of the axis.
func (w Waterfall) ticks() []string {
	list := []string{"0"}
	for third := range 2 {
		if at := w.Span * time.Duration(third+1) / 3; at >= time.Millisecond {
			list = append(list, components.Duration(at))
		}
	}
	return list
}

// stepStates are the states of steps in the order of the summary, with the words for them.
var stepStates = [][2]string{
	{"succeeded", "done"}, {"running", "running"}, {"retrying", "retrying"}, {"waiting", "waiting"}, {"failed", "failed"},
	{"skipped", "skipped"}, {"canceled", "canceled"}, {"pending", "not started"},
}

// UnknownWord marks calls whose outcome is unknown.
const UnknownWord = "Unknown"

// summary counts the steps of the flow by state: 8 done · 1 skipped.
func (w Waterfall) summary() string {
	var parts []string
	for _, s := range stepStates {
		n := w.States[s[0]]
		if s[0] == "succeeded" {
			n += w.States["reused"]
		}
		if n > 0 {
			parts = append(parts, components.Count(n)+" "+s[1])
		}
	}
	return strings.Join(parts, " · ")
}

// took returns the duration of the step.
func (r WaterfallRow) took() string {
	if !r.Began {
		return "–"
	}
	return components.Duration(r.Duration)
}

func (r WaterfallRow) cost() string {
	if r.Cost == "" {
		return "–"
	}
	return r.Cost
}

// twist is the icon of a row that unfolds.
func (r WaterfallRow) twist() string {
	if r.Open {
		return "chevron-down"
	}
	return "chevron-right"
}

// Precisely formats a duration with two decimals below ten seconds.
func Precisely(d time.Duration) string {
	if d >= time.Second && d < 10*time.Second {
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return components.Duration(d)
}

// words describes the bars for screen readers.
func (r WaterfallRow) words() string {
	text := ""
	for i, b := range r.Bars {
		if i > 0 {
			text += "; "
		}
		text += b.Title
	}
	return text
}

// classes returns the CSS classes of the row. Rows deeper than 6 are not indented further, so that
// there is room for names.
func (r WaterfallRow) classes() templ.CSSClasses {
	return templ.Classes("step", "depth-"+strconv.Itoa(min(r.Depth, 6)), r.State, templ.KV("current", r.Current), templ.KV("inside", r.Inside), templ.KV("turn", r.IsTurn), templ.KV("call", r.Turn != "" && !r.IsTurn), templ.KV("bracket-"+r.Bracket, r.Bracket != ""), templ.KV("unknown", r.Mark != nil && r.Mark.Label == UnknownWord))
}

// failures returns the positions of the marks for failed items, at most one per half percent of
// the axis.
func (w Waterfall) failures(r *WaterfallRow) (list []string) {
	last := -1
	for _, at := range r.Failures {
		if x := int(2 * w.percent(at)); x > last {
			last = x
			list = append(list, percent(min(w.percent(at), 100-thinnest)))
		}
	}
	return list
}

// end returns the position of a bar's right end.
func (w Waterfall) end(b WaterfallBar) string { return percent(w.percent(b.To)) }

// columns returns the CSS class for the number of outputs side by side.
func (r RunPage) columns() string { return "of-" + strconv.Itoa(min(len(r.Outputs), 3)) }

// showsError reports whether the head of the page already shows the step's error and advice.
func (r RunPage) showsError(s StepView) bool {
	if r.Error == nil || s.Error == nil {
		return false
	}
	return r.Error.Node == s.Path || r.Error.Item != nil && r.Error.Item.Path == s.Path
}

// absence says why there is nothing to show, or otherwise that there is nothing.
func (s StepView) absence(otherwise string) string {
	if s.Note != "" {
		return wording.Sentence(s.Note)
	}
	return otherwise
}

// began is the moment at which an attempt started.
func (t TryLine) began() string { return "Started " + wording.Second(t.At) }

// took returns the duration of an attempt, or a dash while it runs.
func (t TryLine) took() string {
	if t.Duration == "" {
		return "–"
	}
	return t.Duration
}
