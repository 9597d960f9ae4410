package console

import (
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// UsagePage is what was used in a range of days, beside the range before it.
type UsagePage struct {
	Filter              UsageFilter
	Flows, Keys, Models []components.Option
	// Days are all of the range, the oldest first.
	Days                         []UsageDay
	Total, Previous              UsageSum
	TopFlows, TopKeys, TopModels []UsagePart
	Budgets                      []UsageBudget
	Quotas                       []UsageQuota
}

// UsageFilter is what the address of the page says.
type UsageFilter struct {
	// Range is "7", "30", "90" days, or "custom" with the days in From and Until.
	Range, From, Until string
	Flow, Key, Model   string
	Errors             components.Errors
}

// UsageDay is one day, by UTC.
type UsageDay struct {
	Day time.Time
	UsageSum
}

// UsageSum is what was used. Percentiles are within 9%.
type UsageSum struct {
	Runs, Succeeded, Failed, Canceled int64
	Median, P95                       time.Duration
	InputTokens, OutputTokens         int64
	Micros                            int64 // millionths of a US dollar
	Unpriced                          int64 // steps whose cost is unknown, which Micros lacks
}

// costValue is a cost with a plus sign if the price of a model is unknown.
func costValue(s UsageSum) string {
	if s.Unpriced > 0 {
		return components.Money(s.Micros) + " + " + components.Quantity(int(s.Unpriced), "unpriced step")
	}
	return components.Money(s.Micros)
}

// UsagePart is the part of one flow, key or model.
type UsagePart struct {
	Name, Href string
	Amount     string
	// Share of the whole, from 0 to 1.
	Share float64
}

// UsageBudget is what a flow or a key may use on a UTC day and has used today.
type UsageBudget struct {
	Name, Href    string
	Key           bool // or else a flow
	Runs          bool // it counts runs, or else millionths of a US dollar
	Used, Allowed int64
}

// UsageQuota is one quota of the workspace and how much of it is used.
type UsageQuota struct {
	Unit        string // "bytes", "flows" or "runs"
	Used, Limit int64  // a Limit of 0 is unlimited
}

// usageRanges are the ranges to choose from. The value is a number of days, or
// "custom".
var usageRanges = []components.Option{{Value: "7", Label: "7 days"}, {Value: "30", Label: "30 days"}, {Value: "90", Label: "90 days"}, {Value: "custom", Label: "From … until …"}}

// values returns the filter as URL parameters, without empty ones.
func (f UsageFilter) values() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"range": f.Range, "from": f.From, "until": f.Until, "flow": f.Flow, "key": f.Key, "model": f.Model} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// With is the address of the page with one thing changed.
func (f UsageFilter) With(name, value string) string {
	q := f.values()
	q.Set(name, value)
	return "/usage?" + q.Encode()
}

// empty reports whether the page as it is first shown has nothing to show.
func (p UsagePage) empty() bool {
	return p.Filter.Range == "30" && p.Total == UsageSum{} && p.Previous == UsageSum{} && p.Filter.Flow == "" && p.Filter.Key == "" && p.Filter.Model == ""
}

func (s UsageSum) tokens() int64 { return s.InputTokens + s.OutputTokens }

// success is the share of what succeeded or failed; known reports whether there was any.
func (s UsageSum) success() (share float64, known bool) {
	if s.Succeeded+s.Failed == 0 {
		return 0, false
	}
	return float64(s.Succeeded) / float64(s.Succeeded+s.Failed), true
}

// successText returns the percentage of runs that succeeded, or a dash if none
// succeeded or failed. Canceled runs do not count.
func (s UsageSum) successText() string {
	if share, ok := s.success(); ok {
		return components.Percent(share)
	}
	return "–"
}

// durationText formats a duration. 0 stands for "no run has ended" and is shown as a
// dash.
func durationText(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return components.Took(d)
}

// change says how a number compares with the range before.
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

// usageChart is one picture with its number.
type usageChart struct {
	title, value, change string
	// legend names the colors: class and word.
	legend [][2]string
	bars   []components.Rect
	lines  []usageLine
	ticks  []string // labels of the grid, from the upper edge to zero, at equal distances
	tips   []string // what a day shows on hover
	days   int
	words  string
}

// usageLine is a line of a chart: the data of an SVG path, and the CSS class of its
// color.
type usageLine struct{ path, class string }

// look is its class. A line of one day is a dot, which has to be thicker to be seen.
func (l usageLine) look() string {
	if !strings.Contains(l.path, "L") {
		return strings.TrimSpace(l.class + " dot")
	}
	return l.class
}

// The drawing's own units: a day is 10 wide with a gap of 2, and all is 100 high.
const (
	dayStep     = 10
	dayBar      = 8
	usageHeight = 100
)

// viewBox returns the SVG viewBox: dayStep units wide for each day, and usageHeight
// high.
func (c usageChart) viewBox() string { return fmt.Sprintf("0 0 %d %d", c.days*dayStep, usageHeight) }

// minDays is the shortest time axis, so that bars are not wider than they are high.
const minDays = 14

// shown are the days of the charts: from the first with data on, because an axis that is empty
// for weeks hides what there is. A range that the user typed is shown whole.
func (p UsagePage) shown() []UsageDay {
	first := 0
	for first < len(p.Days)-minDays && p.Filter.Range != "custom" && (p.Days[first].UsageSum == UsageSum{}) {
		first++
	}
	return p.Days[first:]
}

// scale returns a round upper edge for a chart, and its grid from there to zero. whole is for counts,
// which have no half.
func scale(most float64, whole bool, text func(float64) string) (top float64, ticks []string) {
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
	if whole {
		step = math.Max(1, math.Ceil(step))
	}
	lines := int(math.Max(1, math.Ceil(most/step-1e-9)))
	for i := lines; i >= 0; i-- {
		ticks = append(ticks, text(step*float64(i)))
	}
	return step * float64(lines), ticks
}

// gridLines draws the lines of the ticks, without that of zero.
func (c usageChart) gridLines() string {
	var b strings.Builder
	for i := range len(c.ticks) - 1 {
		y := components.Coordinate(usageHeight * float64(i) / float64(len(c.ticks)-1))
		fmt.Fprintf(&b, "M0 %sH%d", y, c.days*dayStep)
	}
	return b.String()
}

// tip returns what a day shows on hover.
func (p UsagePage) tip(text func(UsageDay) string) (tips []string) {
	for _, d := range p.shown() {
		tips = append(tips, d.Day.Format("2 Jan")+": "+text(d))
	}
	return tips
}

func countTick(n float64) string { return components.Count(int(n)) }

// charts are the pictures of the page. Runs belong to no model, so a page of one
// model has those of tokens and cost alone.
func (p UsagePage) charts() (all []usageChart) {
	if p.Filter.Model == "" {
		all = append(all, p.runsChart(), p.successChart(), p.latencyChart())
	}
	return append(all, p.tokensChart(), p.costChart())
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
	c := usageChart{title: "Success", value: p.Total.successText(), change: p.before(p.Previous.successText()), legend: [][2]string{{"", "share that succeeded"}}, ticks: []string{"100%", "50%", "0%"}, days: len(p.shown())}
	c.tips = p.tip(func(d UsageDay) string { return d.successText() })
	c.lines = []usageLine{{p.line(func(d UsageDay) (float64, bool) { return d.success() }), ""}}
	c.words = c.says()
	return c
}

// latencyChart shows the median and the 95th percentile of the latency as lines. Days
// without ended runs are gaps.
func (p UsagePage) latencyChart() usageChart {
	c := usageChart{title: "Latency", value: durationText(p.Total.Median) + " · " + durationText(p.Total.P95), change: p.before(durationText(p.Previous.Median) + " · " + durationText(p.Previous.P95)), days: len(p.shown())}
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
	c.words = c.says()
	return c
}

// durationTick writes a duration of the axis; zero is a number there.
func durationTick(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return components.Took(d)
}

// before is what a number was in the range before, if anything ran then.
func (p UsagePage) before(text string) string {
	if p.Previous.Runs == 0 {
		return "no earlier data"
	}
	return "before: " + text
}

// says describes the chart for screen readers. The numbers of single days are in the
// table below, which they can read.
func (c usageChart) says() string {
	return fmt.Sprintf("%s by day: %s in all, %s, at most %s. The numbers of each day are in the table below.", c.title, c.value, c.change, c.ticks[0])
}

// most returns the largest value of all days, which sets the scale of a chart's axis.
func (p UsagePage) most(of func(UsageDay) int64) (most int64) {
	for _, d := range p.Days {
		most = max(most, of(d))
	}
	return most
}

// stacked draws the parts of each day on top of one another, in the order of
// the legend.
func (p UsagePage) stacked(c usageChart, most float64, parts func(UsageDay) []int64) usageChart {
	c.days, c.words = len(p.shown()), c.says()
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

// line leads through the days that have a value; the others leave a gap.
func (p UsagePage) line(value func(UsageDay) (share float64, known bool)) string {
	var b strings.Builder
	drawn := false
	for i, d := range p.shown() {
		share, known := value(d)
		if known {
			word := "L"
			if !drawn {
				word = "M"
			}
			x, y := components.Coordinate(float64(i*dayStep)+dayStep/2), components.Coordinate(usageHeight*(1-min(share, 1)))
			fmt.Fprintf(&b, "%s%s %s", word, x, y)
			if !drawn {
				b.WriteString("h0") // a day alone is a dot
			}
		}
		drawn = known
	}
	return b.String()
}

// share returns the bar of a budget. It warns from 80 % and is red from 100 %, when
// further starts are refused.
func (b UsageBudget) share() components.Share {
	part := float64(b.Used) / float64(max(1, b.Allowed))
	tone := components.ToneNone
	switch {
	case part >= 1:
		tone = components.ToneBad
	case part >= 0.8:
		tone = components.ToneWait
	}
	return components.Share{Part: part, Tone: tone, Label: fmt.Sprintf("%s, %s: %s today", b.Name, b.whose(), b.label())}
}

// title returns the label of the quota. Bytes are shared by files, runs and flows.
func (q UsageQuota) title() string {
	switch q.Unit {
	case "flows":
		return "Flows"
	case "runs":
		return "Runs kept"
	}
	return "Files, runs and flows"
}

// amount formats a number in the unit of the quota: a size such as "5 GiB", or a count.
func (q UsageQuota) amount(n int64) string {
	if q.Unit == "bytes" {
		return components.Size(n)
	}
	return components.Count(int(n))
}

// label returns the amount in use and, unless the quota is unlimited, the limit: "3 of
// 10".
func (q UsageQuota) label() string {
	if q.Limit == 0 {
		return q.amount(q.Used)
	}
	return q.amount(q.Used) + " of " + q.amount(q.Limit)
}

// part returns the used fraction of the quota, where 1 is all of it.
func (q UsageQuota) part() float64 {
	if q.Limit == 0 {
		return 0
	}
	return float64(q.Used) / float64(q.Limit)
}

// share returns the bar of a quota. It warns from 80 % and is red from 100 %, as those
// of budgets do.
func (q UsageQuota) share() components.Share {
	tone := components.ToneNone
	switch part := q.part(); {
	case part >= 1:
		tone = components.ToneBad
	case part >= 0.8:
		tone = components.ToneWait
	}
	return components.Share{Part: q.part(), Tone: tone, Label: q.title() + ": " + q.label()}
}

// advice returns what is or soon will be refused and what to do; empty while
// there is room.
func (q UsageQuota) advice() string {
	if q.part() < 0.8 {
		return ""
	}
	state, refused, remedy := "Almost full.", "", ""
	switch q.Unit {
	case "flows":
		refused, remedy = "New flows are refused.", "Archive flows that you no longer need"
	case "runs":
		refused, remedy = "New runs are refused.", "Delete runs that you no longer need"
	default:
		refused, remedy = "Uploads, new runs and larger drafts are refused.", "Delete runs or files that you no longer need"
	}
	if q.part() >= 1 {
		state = "Full. " + refused
	}
	return state + " " + remedy + ", or ask the operator of this server to raise the quota."
}

func (b UsageBudget) whose() string {
	if b.Key {
		return "key"
	}
	return "flow"
}

func (b UsageBudget) unit() string {
	if b.Runs {
		return "Runs"
	}
	return "Dollars"
}

// label returns how much of the budget is used today: "3 of 10 runs", or amounts in
// dollars.
func (b UsageBudget) label() string {
	if b.Runs {
		return fmt.Sprintf("%s of %s runs", components.Count(int(b.Used)), components.Count(int(b.Allowed)))
	}
	return fmt.Sprintf("%s of %s", components.Money(b.Used), amount(b.Allowed))
}

// amount writes millionths of a dollar that somebody typed: whole cents as such.
func amount(micros int64) string {
	if micros%10_000 == 0 {
		return fmt.Sprintf("$%.2f", float64(micros)/1e6)
	}
	return components.Money(micros)
}

func (u UsagePart) share() components.Share {
	return components.Share{Part: u.Share, Label: u.Name + ": " + components.Percent(u.Share)}
}

func (u UsagePart) path() templ.SafeURL { return templ.SafeURL(u.Href) }
