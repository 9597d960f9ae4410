package console

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// Waterfall is the steps of a run over time.
type Waterfall struct {
	// Done of Total steps have ended.
	Done, Total int
	// Span is the time that the axis covers.
	Span time.Duration
	Rows []FallRow
	// Shared is set if steps of child runs are among the rows.
	Shared bool
}

// FallRow is one step.
type FallRow struct {
	Path, Label, State string
	// Depth is how far the step is inside of other nodes.
	Depth int
	Bars  []FallBar
	// Note is said in the place of bars.
	Note    string
	Tries   int
	Took    time.Duration
	Began   bool
	Href    string
	Attrs   templ.Attributes
	Current bool
	// Failures are when items of the step failed.
	Failures []time.Duration
	// Fold shows or hides the item below the step; empty if it has none.
	Fold *FallFold
	// Open is the page of the run of an item.
	Open string
	// Item is set for the row of a child run, Inside for its steps.
	Item, Inside bool
}

// FallFold is the link that shows or hides the steps of an item.
type FallFold struct {
	Open bool
	Link RunLink
}

// FallBar is one attempt, or the wait before the next, from and to the
// beginning of the axis.
type FallBar struct {
	From, To time.Duration
	// State is that of the attempt: succeeded, failed, retrying; "pause" is a wait.
	State string
	Title string
}

// A bar is never thinner than this, in percent of the axis, so that a step of
// a millisecond is seen too.
const thinnest = 0.4

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
func (w Waterfall) x(b FallBar) string {
	return percent(min(w.percent(b.From), 100-thinnest))
}

// width returns the width of a bar, at least thinnest: steps of microseconds would be
// invisible otherwise.
func (w Waterfall) width(b FallBar) string {
	return percent(max(w.percent(b.To)-w.percent(b.From), thinnest))
}

func percent(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) + "%" }

// tick is a moment that the axis names.
type tick struct{ x, label string }

// steps of an axis, as people count.
var tickSteps = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second,
	10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// ticks are four at most, on even moments, with room for the last label.
func (w Waterfall) ticks() (list []tick) {
	step := tickSteps[len(tickSteps)-1]
	for _, s := range tickSteps {
		if w.Span/s <= 4 {
			step = s
			break
		}
	}
	for at := time.Duration(0); at <= w.Span*94/100 && len(list) < 8; at += step {
		list = append(list, tick{percent(w.percent(at)), tickLabel(at)})
	}
	return list
}

// tickLabel formats a time below the axis in the largest unit that fits. Minutes and
// hours are rounded down.
func tickLabel(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%d h", int(d.Hours()))
}

func (w Waterfall) progress() string { return fmt.Sprintf("%d of %d done", w.Done, w.Total) }

// tries returns the number of attempts, or a dash for a step that has not started.
func (r FallRow) tries() string {
	if r.Tries == 0 {
		return "–"
	}
	return strconv.Itoa(r.Tries)
}

// took returns the duration of the step, with more digits than durations of runs have,
// since steps are compared here.
func (r FallRow) took() string {
	if !r.Began {
		return "–"
	}
	return Precisely(r.Took)
}

// Precisely writes a duration with a hundredth below ten seconds.
func Precisely(d time.Duration) string {
	if d >= time.Second && d < 10*time.Second {
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return components.Took(d)
}

// words say what the bars show.
func (r FallRow) words() string {
	text := ""
	for i, b := range r.Bars {
		if i > 0 {
			text += "; "
		}
		text += b.Title
	}
	return text
}

// indent returns the CSS class of the row's depth. Rows deeper than 6 are not indented
// further, so that there is room for names.
func (r FallRow) indent() string { return "depth-" + strconv.Itoa(min(r.Depth, 6)) }

// classes of the row.
func (r FallRow) classes() templ.CSSClasses {
	return templ.Classes(r.State, templ.KV("current", r.Current), templ.KV("item", r.Item), templ.KV("inside", r.Inside))
}

// failures are where red ticks stand: at most one for each half percent of the axis.
func (w Waterfall) failures(r FallRow) (list []string) {
	last := -1
	for _, at := range r.Failures {
		if x := int(2 * w.percent(at)); x > last {
			last = x
			list = append(list, percent(min(w.percent(at), 100-thinnest)))
		}
	}
	return list
}

// end is the right end of a bar.
func (w Waterfall) end(b FallBar) string { return percent(w.percent(b.To)) }

// roomy is the share of the axis, in percent, from which a wait has its duration beside it.
const roomy = 16

// caption is where the words of a wait stand; empty if there is no space for them.
func (w Waterfall) caption(b FallBar) string {
	if w.percent(b.To)-w.percent(b.From) < roomy {
		return ""
	}
	return percent((w.percent(b.From) + w.percent(b.To)) / 2)
}

// says reports whether the head of the page already has the error of a step, with what to do.
func (r RunPage) says(s StepView) bool {
	return r.Error != nil && s.Error != nil && r.Error.Node == s.Node && r.Error.Message == s.Error.Message
}

// attempt is how an attempt ended. An attempt with the error of the step has its code only, because
// the sentence is on the page already.
func (s StepView) attempt(t TryLine) string {
	if s.Error != nil && strings.Contains(t.Text, s.Error.Message) {
		return string(s.Error.Code)
	}
	return t.Text
}

// clock writes a moment with its day, which would be unclear for a run of yesterday.
func clock(at time.Time) string { return at.UTC().Format("2 Jan, 15:04:05") }

// instant is clock with tenths of a second, for attempts that follow each other quickly.
func instant(at time.Time) string { return at.UTC().Format("2 Jan, 15:04:05.0") }

func (t TryLine) number() string { return strconv.Itoa(t.Number) }
