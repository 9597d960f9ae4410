package views

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Bar is one part of a sparkline: what happened in one hour, say.
type Bar struct {
	Count, Failed int
}

// Sparkline is a row of bars; Unit is what is counted ("runs"), Span over what
// time ("24 h").
type Sparkline struct {
	Bars []Bar
	Unit string
	Span string
}

// The drawing's own units: a bar is 3 wide with a gap of 1, and 24 high.
const (
	sparkStep   = 4
	sparkBar    = 3
	sparkHeight = 24
)

func (s Sparkline) viewBox() string {
	return fmt.Sprintf("0 0 %d %d", max(len(s.Bars)*sparkStep-1, 1), sparkHeight)
}

// words say in a sentence what the picture shows.
func (s Sparkline) words() string {
	var all, failed, most int
	for _, b := range s.Bars {
		all, failed, most = all+b.Count, failed+b.Failed, max(most, b.Count)
	}
	return fmt.Sprintf("%s %s in %s, %s failed, at most %s at once", Count(all), s.Unit, s.Span, Count(failed), Count(most))
}

// rect is one rectangle of a drawing.
type rect struct {
	x, y, width, height string
	class               string
}

// rects are the bars: what succeeded, and on top of it what failed. An hour
// without runs is a thin line, so that time goes on where nothing happens.
func (s Sparkline) rects() []rect {
	most := 1
	for _, b := range s.Bars {
		most = max(most, b.Count)
	}
	var all []rect
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

func bar(i int, above, height float64, class string) rect {
	return rect{
		x: strconv.Itoa(i * sparkStep), y: short(sparkHeight - above - height),
		width: strconv.Itoa(sparkBar), height: short(height), class: class,
	}
}

// short writes a coordinate with at most two decimals.
func short(v float64) string {
	s := strconv.FormatFloat(v, 'f', 2, 64)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// Share is how much of a whole is used up, from 0 to 1.
type Share struct {
	Part float64
	Tone Tone
	// Label says what the bar shows, with the numbers.
	Label string
}

func (s Share) width() string { return short(100 * min(max(s.Part, 0), 1)) }

// Count writes a number as people read it: 1,204.
func Count(n int) string {
	digits := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Took writes a duration with as much of it as matters: 14 ms, 1.9 s, 83 s, 3 min 20 s.
func Took(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// Money writes millionths of a US dollar: $0.0012, $3.40.
func Money(micros int64) string {
	switch {
	case micros == 0:
		return "$0"
	case micros < 100:
		return "<$0.0001"
	case micros < 1_000_000:
		return fmt.Sprintf("$%.4f", float64(micros)/1e6)
	}
	return fmt.Sprintf("$%.2f", float64(micros)/1e6)
}

// Percent writes a share from 0 to 1. Only all is 100 %.
func Percent(share float64) string {
	p := share * 100
	switch {
	case share >= 1:
		return "100 %"
	case p > 99.9:
		return "99.9 %"
	case p == math.Trunc(p):
		return fmt.Sprintf("%.0f %%", p)
	}
	return fmt.Sprintf("%.1f %%", p)
}
