package components

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bar is one bar of a sparkline, for example the runs of one hour.
type Bar struct {
	Count, Failed int
}

// Sparkline is a row of bars. Unit is what is counted ("run"), Span the period ("24 h").
type Sparkline struct {
	Bars []Bar
	Unit string
	Span string
}

// Units of the SVG: a bar is 3 wide with a gap of 1, and the chart is 24 high.
const (
	sparkStep   = 4
	sparkBar    = 3
	sparkHeight = 24
)

// ViewBox returns the SVG viewBox: each bar is 3 wide with a gap of 1, and the chart is
// 24 high. CSS stretches it to the width of its container.
func (s Sparkline) ViewBox() string {
	return fmt.Sprintf("0 0 %d %d", max(len(s.Bars)*sparkStep-1, 1), sparkHeight)
}

// words describes the chart for screen readers.
func (s Sparkline) words() string {
	var all, failed, most int
	for _, b := range s.Bars {
		all, failed, most = all+b.Count, failed+b.Failed, max(most, b.Count)
	}
	return fmt.Sprintf("%s in %s, %s failed, at most %s per bar", Quantity(all, s.Unit), s.Span, Count(failed), Count(most))
}

// Rect is one rectangle of a chart.
type Rect struct {
	X, Y, Width, Height string
	Class               string
}

// Rects returns the bars, with failures stacked on successes. An hour without runs is a thin
// line, so that the time axis has no gaps.
func (s Sparkline) Rects() []Rect {
	most := 1
	for _, b := range s.Bars {
		most = max(most, b.Count)
	}
	var all []Rect
	for i, b := range s.Bars {
		if b.Count == 0 {
			all = append(all, bar(i, 0, 1, "none"))
			continue
		}
		high := math.Max(2, float64(b.Count)/float64(most)*sparkHeight)
		red := 0.0
		if b.Failed > 0 {
			red = math.Max(2, high*float64(b.Failed)/float64(b.Count))
			all = append(all, bar(i, high-red, red, "failed"))
		}
		if b.Failed < b.Count {
			all = append(all, bar(i, 0, high-red, ""))
		}
	}
	return all
}

// bar returns the rectangle of the i-th bar, counted from the left. It starts at the
// height above the baseline, so that bars can be stacked; y grows downwards in SVG.
func bar(i int, above, height float64, class string) Rect {
	return Rect{
		X: strconv.Itoa(i * sparkStep), Y: Coordinate(sparkHeight - above - height),
		Width: strconv.Itoa(sparkBar), Height: Coordinate(height), Class: class,
	}
}

// Coordinate formats an SVG coordinate with at most two decimals.
func Coordinate(v float64) string {
	s := strconv.FormatFloat(v, 'f', 2, 64)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// Share is the fraction of a limit that is used, from 0 to 1.
type Share struct {
	Part float64
	Tone Tone
	// Label is the text for screen readers, with the numbers.
	Label string
}

// width returns the filled part in percent. Part is clamped to 0 and 1, because it
// exceeds 1 after a budget was lowered below what is used.
func (s Share) width() string { return Coordinate(100 * min(max(s.Part, 0), 1)) }

// Outcomes reports whether each attempt succeeded, oldest first.
type Outcomes []bool

// rects returns one bar per attempt; failed attempts are short and red.
func (o Outcomes) rects() []Rect {
	all := make([]Rect, len(o))
	for i, ok := range o {
		if ok {
			all[i] = bar(i, 0, sparkHeight, "")
		} else {
			all[i] = bar(i, 0, sparkHeight/2, "failed")
		}
	}
	return all
}

// viewBox returns the SVG viewBox, in the units of Sparkline.ViewBox. Unlike a
// sparkline, these bars keep their proportions at any size.
func (o Outcomes) viewBox() string {
	return fmt.Sprintf("0 0 %d %d", max(len(o)*sparkStep-1, 1), sparkHeight)
}
