package console

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// Waterfall is the timeline of a run's steps.
type Waterfall struct {
	// Done of Total steps have finished.
	Done, Total int
	// Span is the length of the time axis.
	Span time.Duration
	Rows []WaterfallRow
	// Shared is set if steps of child runs are among the rows.
	Shared bool
}

// WaterfallRow is one step in the timeline.
type WaterfallRow struct {
	Path, Label, State string
	// Depth is the nesting level of the step.
	Depth int
	Bars  []WaterfallBar
	// Note is shown in place of bars.
	Note     string
	Tries    int
	Duration time.Duration
	Began    bool
	Href     string
	Attrs    templ.Attributes
	Current  bool
	// Failures are the times at which items of the step failed.
	Failures []time.Duration
	// Fold toggles the steps of an item below the row; nil if it has none.
	Fold *WaterfallFold
	// Open is the URL of an item's run.
	Open string
	// Item is set for the row of a child run, Inside for its steps.
	Item, Inside bool
}

// WaterfallFold is the link that shows or hides the steps of an item.
type WaterfallFold struct {
	Open bool
	Link RunLink
}

// WaterfallBar is one attempt or the wait before the next one. From and To are relative to the
// start of the axis.
type WaterfallBar struct {
	From, To time.Duration
	// State is the state of the attempt: succeeded, failed or retrying; "pause" is a wait.
	State string
	Title string
}

// thinnest is the minimum width of a bar in percent of the axis, so that a step of a
// millisecond is visible.
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
func (w Waterfall) x(b WaterfallBar) string {
	return percent(min(w.percent(b.From), 100-thinnest))
}

// width returns the width of a bar, at least thinnest: steps of microseconds would be
// invisible otherwise.
func (w Waterfall) width(b WaterfallBar) string {
	return percent(max(w.percent(b.To)-w.percent(b.From), thinnest))
}

func percent(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) + "%" }

// tick is a label of the time axis.
type tick struct{ x, label string }

// tickSteps are the distances between ticks, in round units.
var tickSteps = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second,
	10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// ticks returns at most four labels at round times, with room for the last one.
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

// tickLabel formats a time below the axis in the largest unit that fits. Steps of half a
// minute or half an hour need a decimal.
func tickLabel(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
	case d < time.Hour:
		return shortDecimal(d.Minutes()) + " min"
	}
	return shortDecimal(d.Hours()) + " h"
}

// shortDecimal formats a number with at most one decimal.
func shortDecimal(n float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(n, 'f', 1, 64), ".0")
}

func (w Waterfall) progress() string { return fmt.Sprintf("%d of %d done", w.Done, w.Total) }

// tries returns the number of attempts, or a dash for a step that has not started.
func (r WaterfallRow) tries() string {
	if r.Tries == 0 {
		return "–"
	}
	return strconv.Itoa(r.Tries)
}

// took returns the duration of the step, with more digits than durations of runs have,
// since steps are compared here.
func (r WaterfallRow) took() string {
	if !r.Began {
		return "–"
	}
	return Precisely(r.Duration)
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

// indent returns the CSS class of the row's depth. Rows deeper than 6 are not indented
// further, so that there is room for names.
func (r WaterfallRow) indent() string { return "depth-" + strconv.Itoa(min(r.Depth, 6)) }

// classes returns the CSS classes of the row.
func (r WaterfallRow) classes() templ.CSSClasses {
	return templ.Classes(r.State, templ.KV("current", r.Current), templ.KV("item", r.Item), templ.KV("inside", r.Inside))
}

// failures returns the positions of the marks for failed items, at most one per half percent of
// the axis.
func (w Waterfall) failures(r WaterfallRow) (list []string) {
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

// roomy is the width in percent of the axis from which a wait has its duration beside it.
const roomy = 16

// caption returns the position of a wait's label; "" if there is no space for it.
func (w Waterfall) caption(b WaterfallBar) string {
	if w.percent(b.To)-w.percent(b.From) < roomy {
		return ""
	}
	return percent((w.percent(b.From) + w.percent(b.To)) / 2)
}

// showsError reports whether the head of the page already shows the step's error and advice.
func (r RunPage) showsError(s StepView) bool {
	return r.Error != nil && s.Error != nil && r.Error.Node == s.Node && r.Error.Message == s.Error.Message
}

// attempt describes how an attempt ended. If its error is that of the step, only the code is
// repeated.
func (s StepView) attempt(t TryLine) string {
	if s.Error != nil && strings.Contains(t.Text, s.Error.Message) {
		return string(s.Error.Code)
	}
	return t.Text
}

// clock formats a time in UTC with its day, which matters for runs of other days.
func clock(at time.Time) string { return at.UTC().Format("2 Jan, 15:04:05") }

// instant is clock with tenths of a second, to distinguish attempts in quick succession.
func instant(at time.Time) string { return at.UTC().Format("2 Jan, 15:04:05.0") }

func (t TryLine) number() string { return strconv.Itoa(t.Number) }
