package console

import (
	"fmt"
	"math"
	"strings"
	"time"

	"sluice/flow/wording"
	"sluice/views/components"
)

// change compares a number with that of the previous range.
func change(now, before int64) string {
	switch {
	case before == 0 && now == 0:
		return "no change"
	case before == 0:
		return "no earlier data"
	}
	percent := math.Round(100 * float64(now-before) / float64(before))
	switch {
	case percent == 0:
		return "no change"
	case percent > 999:
		return fmt.Sprintf("%.0f times as much", float64(now)/float64(before))
	}
	if percent < 0 {
		return fmt.Sprintf("%.0f%% less than before", -percent)
	}
	return fmt.Sprintf("%.0f%% more than before", percent)
}

// usageChart is one chart with its headline number.
type usageChart struct {
	title, value, change string
	// legend pairs the CSS class of a color with its label.
	legend [][2]string
	bars   []components.Rect
	lines  []usageLine
	ticks  []string // labels of the grid from top to zero, equally spaced
	tips   []string // tooltip of each day
	days   int
	words  string
	// from and until label the ends of the time axis.
	from, until string
	unit        string // day or hour
}

// usageLine is a line of a chart: the data of an SVG path, and the CSS class of its
// color.
type usageLine struct{ path, class string }

// look returns the CSS class. A line with only one day is a dot, which must be thicker to be
// visible.
func (l usageLine) look() string {
	if !strings.Contains(l.path, "L") {
		return strings.TrimSpace(l.class + " dot")
	}
	return l.class
}

// Units of the SVG: a day is 10 wide with a gap of 2, and the chart is 100 high.
const (
	dayStep     = 10
	dayBar      = 8
	dayDot      = 2 // a line of a single day; not a round cap, which some browsers stretch with the chart
	usageHeight = 100
)

// viewBox returns the SVG viewBox: dayStep units wide for each day, and usageHeight
// high.
func (c usageChart) viewBox() string { return fmt.Sprintf("0 0 %d %d", c.days*dayStep, usageHeight) }

// minDays is the shortest time axis; with fewer days, bars would be wider than high.
const minDays = 14

// shown returns the days on the charts, without empty weeks at the beginning. A range that the
// user typed is shown in full.
func (p UsagePage) shown() []UsageDay {
	first := 0
	for first < len(p.Days)-minDays && p.Filter.Range != "custom" && (p.Days[first].UsageSum == UsageSum{}) {
		first++
	}
	return p.Days[first:]
}

// scale returns a round upper bound for an axis and its tick labels from there to zero. With
// integers, ticks are whole numbers.
func scale(most float64, integers bool, text func(float64) string) (top float64, ticks []string) {
	if most <= 0 {
		return 1, []string{text(0)}
	}
	step := math.Pow(10, math.Floor(math.Log10(math.Max(most, 1e-9)/2)))
	for _, f := range []float64{1, 2, 5, 10} {
		if most/(step*f) <= 4 {
			step *= f
			break
		}
	}
	if integers {
		step = math.Max(1, math.Ceil(step))
	}
	lines := int(math.Max(1, math.Ceil(most/step-1e-9)))
	for i := lines; i >= 0; i-- {
		ticks = append(ticks, text(step*float64(i)))
	}
	return step * float64(lines), ticks
}

// gridLines returns the SVG path of the grid, without the line at zero.
func (c usageChart) gridLines() string {
	var b strings.Builder
	for i := range len(c.ticks) - 1 {
		y := components.Coordinate(usageHeight * float64(i) / float64(len(c.ticks)-1))
		fmt.Fprintf(&b, "M0 %sH%d", y, c.days*dayStep)
	}
	return b.String()
}

// tip returns the tooltips of the days.
func (p UsagePage) tip(text func(UsageDay) string) (tips []string) {
	for _, d := range p.shown() {
		tips = append(tips, p.when(d)+": "+text(d))
	}
	return tips
}

// when labels a day or, on a page of hours, an hour.
func (p UsagePage) when(d UsageDay) string {
	if p.hourly {
		return d.Day.UTC().Format("3 PM")
	}
	return wording.ShortDay(d.Day)
}

// byHour returns the page with hours in place of days.
func (p UsagePage) byHour() UsagePage {
	p.Days, p.hourly = p.Hours, true
	return p
}

func countTick(n float64) string { return components.Count(int(n)) }

// charts returns the charts of the page. Runs can't be attributed to a model, so the page of
// one model shows only tokens and cost.
func (p UsagePage) charts() (all []usageChart) {
	days := p
	if len(p.Hours) > 0 {
		p = p.byHour()
	}
	if p.Filter.Model == "" {
		all = append(all, p.runsChart(), p.successChart(), p.latencyChart())
	}
	return append(all, days.tokensChart(), p.costChart())
}

// runsChart stacks succeeded, failed and canceled runs of each day, from the bottom up.
func (p UsagePage) runsChart() usageChart {
	c := usageChart{title: "Runs", value: components.Count(int(p.Total.Runs)), change: change(p.Total.Runs, p.Previous.Runs), legend: [][2]string{{"", "succeeded"}, {"failed", "failed"}, {"quiet", "canceled"}}}
	most := p.most(func(d UsageDay) int64 { return d.Runs })
	top, ticks := scale(float64(most), true, countTick)
	c.ticks = ticks
	c.tips = p.tip(func(d UsageDay) string {
		return fmt.Sprintf("%s, %s succeeded, %s failed, %s canceled", components.Quantity(int(d.Runs), "run"), components.Count(int(d.Succeeded)), components.Count(int(d.Failed)), components.Count(int(d.Canceled)))
	})
	return p.stacked(c, top, func(d UsageDay) []int64 { return []int64{d.Succeeded, d.Failed, d.Canceled} })
}

// tokensChart stacks output tokens on the input tokens of each day.
func (p UsagePage) tokensChart() usageChart {
	c := usageChart{title: "Tokens", value: components.Count(int(p.Total.tokens())), change: change(p.Total.tokens(), p.Previous.tokens()), legend: [][2]string{{"", "input"}, {"second", "output"}}}
	most := p.most(func(d UsageDay) int64 { return d.tokens() })
	top, ticks := scale(float64(most), true, countTick)
	c.ticks = ticks
	c.tips = p.tip(func(d UsageDay) string {
		return components.Count(int(d.InputTokens)) + " in, " + components.Count(int(d.OutputTokens)) + " out"
	})
	return p.stacked(c, top, func(d UsageDay) []int64 { return []int64{d.InputTokens, d.OutputTokens} })
}

// costChart shows the cost of each day in US dollars. Steps of models without a price
// are missing from it.
func (p UsagePage) costChart() usageChart {
	c := usageChart{title: "Cost", value: costValue(p.Total), change: change(p.Total.Micros, p.Previous.Micros), legend: [][2]string{{"", "US dollars"}}}
	most := p.most(func(d UsageDay) int64 { return d.Micros })
	top, ticks := scale(float64(most), true, func(micros float64) string { return components.Money(int64(micros)) })
	c.ticks = ticks
	c.tips = p.tip(func(d UsageDay) string { return components.Money(d.Micros) })
	return p.stacked(c, top, func(d UsageDay) []int64 { return []int64{d.Micros} })
}

// successChart shows the success rate as a line from 0 to 100 %. A day without ended
// runs is a gap: it has no rate.
func (p UsagePage) successChart() usageChart {
	c := usageChart{title: "Success", value: p.Total.successText(), change: p.before(p.Previous.successText()), legend: [][2]string{{"", "share that succeeded"}}, ticks: []string{"100%", "50%", "0%"}}
	c.tips = p.tip(func(d UsageDay) string { return d.successText() })
	c.lines = []usageLine{{p.line(func(d UsageDay) (float64, bool) { return d.success() }), ""}}
	return p.span(c)
}

// latencyChart shows the median and the 95th percentile of the latency as lines. Days
// without ended runs are gaps.
func (p UsagePage) latencyChart() usageChart {
	c := usageChart{title: "Latency", value: durationText(p.Total.Median) + " · " + durationText(p.Total.P95), change: p.before(durationText(p.Previous.Median) + " · " + durationText(p.Previous.P95))}
	c.legend = [][2]string{{"", "median"}, {"second", "p95"}}
	most, ticks := scale(float64(max(1, p.most(func(d UsageDay) int64 { return int64(d.P95) }))), false, func(ns float64) string { return durationTick(time.Duration(ns)) })
	c.ticks = ticks
	c.tips = p.tip(func(d UsageDay) string { return "median " + durationText(d.Median) + ", p95 " + durationText(d.P95) })
	share := func(of func(UsageDay) time.Duration) func(UsageDay) (float64, bool) {
		return func(d UsageDay) (float64, bool) { return float64(of(d)) / most, of(d) > 0 }
	}
	c.lines = []usageLine{
		{p.line(share(func(d UsageDay) time.Duration { return d.Median })), ""},
		{p.line(share(func(d UsageDay) time.Duration { return d.P95 })), "second"},
	}
	return p.span(c)
}

// durationTick formats a tick of a time axis; unlike in durationText, 0 is a number.
func durationTick(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return components.Duration(d)
}

// before labels the value of the previous range, if there were runs in it.
func (p UsagePage) before(text string) string {
	if p.Previous.Runs == 0 {
		return "no earlier data"
	}
	return "before: " + text
}

// description describes the chart for screen readers; the table below it has the numbers of
// each day.
func (c usageChart) description() string {
	return fmt.Sprintf("%s by %s: %s in all, %s, at most %s. Numbers by day are in the table below.", c.title, c.unit, c.value, c.change, c.ticks[0])
}

// span sets the time axis of a chart, and describes the chart in words.
func (p UsagePage) span(c usageChart) usageChart {
	days := p.shown()
	c.days, c.from, c.until, c.unit = len(days), p.when(days[0]), p.when(days[len(days)-1]), "day"
	if p.hourly {
		c.unit, c.until = "hour", "now"
	}
	c.words = c.description()
	return c
}

// most returns the largest value of all days, which sets the scale of a chart's axis.
func (p UsagePage) most(of func(UsageDay) int64) (most int64) {
	for _, d := range p.Days {
		most = max(most, of(d))
	}
	return most
}

// stacked adds the bars of each day to the chart, stacked in the order of the legend.
func (p UsagePage) stacked(c usageChart, most float64, parts func(UsageDay) []int64) usageChart {
	c = p.span(c)
	for i, d := range p.shown() {
		at := float64(usageHeight)
		for j, n := range parts(d) {
			if n == 0 {
				continue
			}
			high := math.Max(1, float64(n)/math.Max(1, most)*usageHeight)
			at -= high
			c.bars = append(c.bars, components.Rect{X: components.Coordinate(float64(i*dayStep) + 1), Y: components.Coordinate(math.Max(0, at)), Width: fmt.Sprint(dayBar), Height: components.Coordinate(high), Class: c.legend[j][0]})
		}
	}
	return c
}

// isKnown reports whether a day has a value.
func isKnown(value func(UsageDay) (float64, bool), d UsageDay) bool {
	_, known := value(d)
	return known
}

// line returns an SVG path through the days that have a value, with gaps for the others.
func (p UsagePage) line(value func(UsageDay) (share float64, known bool)) string {
	var b strings.Builder
	drawn := false
	days := p.shown()
	for i, d := range days {
		share, known := value(d)
		if x, y := float64(i*dayStep)+dayStep/2, components.Coordinate(usageHeight*(1-min(share, 1))); known {
			switch alone := i+1 == len(days) || !isKnown(value, days[i+1]); {
			case drawn:
				fmt.Fprintf(&b, "L%s %s", components.Coordinate(x), y)
			case alone:
				fmt.Fprintf(&b, "M%s %sh%d", components.Coordinate(x-dayDot/2.), y, dayDot)
			default:
				fmt.Fprintf(&b, "M%s %s", components.Coordinate(x), y)
			}
		}
		drawn = known
	}
	return b.String()
}
