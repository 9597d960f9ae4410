package schedule

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// cron is a crontab expression of five fields. Each field is a set of bits.
type cron struct {
	minutes, hours, days, months, weekdays uint64
	// nth has for each weekday the bits 1 to 5 of its occurrences in the month, and bit 6 for the last one.
	nth     [7]uint8
	lastDay bool // L: the last day of the month
	// either: both days and weekdays are restricted, so a day matches if one of them does, as in crontab.
	either bool
	// realTime: the hour has * or /, or all hours. Such an expression means an interval, so it follows real time when the
	// clocks change; other hours are times of the day.
	realTime bool
	fields   []string
}

// shorthands are the expressions that have a name.
var shorthands = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

var (
	monthNames   = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	weekdayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
)

// parseCron reads an expression and describes what is wrong with it.
func parseCron(text string) (*cron, string) {
	text = strings.ToLower(strings.TrimSpace(text))
	if strings.HasPrefix(text, "@") {
		long, ok := shorthands[text]
		if !ok {
			return nil, "the names are @hourly, @daily, @weekly, @monthly and @yearly"
		}
		text = long
	}
	f := strings.Fields(text)
	if len(f) != 5 {
		return nil, fmt.Sprintf("has %d fields instead of 5: minute, hour, day of month, month, weekday", len(f))
	}
	c := &cron{fields: f}
	var problem string
	read := func(name, field string, set *uint64, lowest, highest int, names []string) {
		if problem != "" {
			return
		}
		if *set, problem = parseField(field, lowest, highest, names); problem != "" {
			problem = name + ": " + problem
		}
	}
	read("minute", f[0], &c.minutes, 0, 59, nil)
	read("hour", f[1], &c.hours, 0, 23, nil)
	days := c.takeLastDay(f[2])
	if days != "" {
		read("day of month", days, &c.days, 1, 31, nil)
	}
	read("month", f[3], &c.months, 1, 12, monthNames)
	weekdays, nth := c.takeNth(f[4])
	if problem == "" && nth != "" {
		problem = "weekday: " + nth
	}
	if weekdays != "" {
		read("weekday", weekdays, &c.weekdays, 0, 7, weekdayNames)
	}
	c.weekdays = c.weekdays&0x7f | c.weekdays>>7 // 7 is Sunday too
	c.either = !strings.HasPrefix(f[2], "*") && !strings.HasPrefix(f[4], "*")
	c.realTime = strings.ContainsAny(f[1], "*/") || bits.OnesCount64(c.hours) == 24
	return c, problem
}

// takeLastDay removes L from the list of days.
func (c *cron) takeLastDay(field string) string {
	var rest []string
	for item := range strings.SplitSeq(field, ",") {
		if item == "l" {
			c.lastDay = true
			continue
		}
		rest = append(rest, item)
	}
	return strings.Join(rest, ",")
}

// takeNth removes items such as 5#2 (the second Friday) and 5L (the last one) from the list of weekdays.
func (c *cron) takeNth(field string) (rest, problem string) {
	var list []string
	for item := range strings.SplitSeq(field, ",") {
		day, n, counted := strings.Cut(item, "#")
		if !counted && len(item) > 1 && strings.HasSuffix(item, "l") {
			day, n, counted = item[:len(item)-1], "6", true
		} else if counted && (len(n) != 1 || n < "1" || n > "5") {
			return "", fmt.Sprintf("%q must count from #1 to #5", item)
		}
		if !counted {
			list = append(list, item)
			continue
		}
		d, err := parseNumber(day, weekdayNames, 0)
		if err != nil || d < 0 || d > 7 {
			return "", fmt.Sprintf("%q is not a weekday from 0 (Sunday) to 7", day)
		}
		c.nth[d%7] |= 1 << (n[0] - '0')
	}
	return strings.Join(list, ","), ""
}

// parseField reads a list of numbers, ranges and steps as a set of bits.
func parseField(field string, lowest, highest int, names []string) (set uint64, problem string) {
	for item := range strings.SplitSeq(field, ",") {
		value, step, stepped := strings.Cut(item, "/")
		every := 1
		if stepped {
			n, err := strconv.Atoi(step)
			if err != nil || n < 1 || n > highest {
				return 0, fmt.Sprintf("the step of %q must be between 1 and %d; use every for other intervals", item, highest)
			}
			every = n
		}
		first, last, problem := parseRange(value, lowest, highest, names)
		if problem != "" {
			return 0, problem
		}
		if stepped && value != "*" && !strings.Contains(value, "-") {
			last = highest // 5/15 starts at 5
		}
		for n := first; n <= last; n += every {
			set |= 1 << n
		}
	}
	return set, ""
}

// parseRange reads *, a number or a range.
func parseRange(text string, lowest, highest int, names []string) (first, last int, problem string) {
	if text == "*" {
		if highest == 7 {
			highest = 6
		}
		return lowest, highest, ""
	}
	a, b, ranged := strings.Cut(text, "-")
	first, err := parseNumber(a, names, lowest)
	last = first
	if err == nil && ranged {
		if last, err = parseNumber(b, names, lowest); highest == 7 && last == 0 {
			last = 7 // fri-sun
		}
	}
	if err != nil || first < lowest || last > highest {
		return 0, 0, fmt.Sprintf("%q is not a number from %d to %d or a range", text, lowest, highest)
	}
	if first > last {
		return 0, 0, fmt.Sprintf("the range %q ends before it begins", text)
	}
	return first, last, ""
}

// parseNumber reads a number or a name; the first name has the value lowest.
func parseNumber(text string, names []string, lowest int) (int, error) {
	for i, name := range names {
		if text == name {
			return i + lowest, nil
		}
	}
	if len(text) > 2 {
		return 0, strconv.ErrRange
	}
	return strconv.Atoi(text)
}

// ParseInterval reads an interval such as 65m, 13h, 2d or 1h30m and describes what is wrong with it.
func ParseInterval(text string) (total time.Duration, problem string) {
	const wrong = "must be an interval such as 15m, 13h or 2d"
	for rest := strings.ToLower(strings.TrimSpace(text)); rest != ""; {
		i := strings.IndexAny(rest, "mhdw")
		if i < 1 || i > 6 {
			return 0, wrong
		}
		n, err := strconv.ParseUint(rest[:i], 10, 32)
		if err != nil {
			return 0, wrong
		}
		unit := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}[rest[i]]
		total += time.Duration(n) * unit
		rest = rest[i+1:]
	}
	if total < MinEvery || total > MaxEvery {
		return 0, "must be between 1 minute and 366 days"
	}
	return total, ""
}

const daySeconds = 24 * 60 * 60

// matchesDay reports whether the expression allows a date.
func (c *cron) matchesDay(day time.Time) bool {
	_, month, d := day.Date()
	if c.months&(1<<month) == 0 {
		return false
	}
	inMonth := c.days&(1<<d) != 0 || c.lastDay && day.AddDate(0, 0, 1).Day() == 1
	weekday := day.Weekday()
	inWeek := c.weekdays&(1<<weekday) != 0
	if nth := c.nth[weekday]; nth != 0 {
		inWeek = inWeek || nth&(1<<((d-1)/7+1)) != 0 || nth&(1<<6) != 0 && day.AddDate(0, 0, 7).Month() != month
	}
	if c.either {
		return inMonth || inWeek
	}
	return inMonth && inWeek
}

// first returns the first wall time from w that matches and is before end, or end. Wall times are seconds that clocks would
// show since 1970.
func (c *cron) first(w, end int64) int64 {
	w = (w + 59) / 60 * 60
	for w < end {
		day := time.Unix(w, 0).UTC()
		if c.months&(1<<day.Month()) == 0 {
			w = time.Date(day.Year(), day.Month()+1, 1, 0, 0, 0, 0, time.UTC).Unix()
			continue
		}
		midnight := w - w%daySeconds
		if c.matchesDay(day) {
			if minute := c.firstMinute(int(w % daySeconds / 60)); minute >= 0 {
				return min(midnight+int64(minute)*60, end)
			}
		}
		w = midnight + daySeconds
	}
	return end
}

// firstMinute returns the first minute of the day from m that matches, or -1.
func (c *cron) firstMinute(m int) int {
	for hour := m / 60; hour < 24; hour, m = hour+1, 0 {
		if rest := c.minutes >> (m % 60); c.hours&(1<<hour) != 0 && rest != 0 {
			return hour*60 + m%60 + bits.TrailingZeros64(rest)
		}
	}
	return -1
}

// next returns the first time after t, or the zero time. It looks at one period of equal offset after the other.
func (c *cron) next(t time.Time, location *time.Location) time.Time {
	from := t.Unix() + 1
	limit := t.Add(horizon).Unix()
	for from < limit {
		at := time.Unix(from, 0).In(location)
		start, end := bounds(at)
		p := period{from: from, end: limit, offset: offset(at)}
		if !end.IsZero() {
			p.end = min(p.end, end.Unix())
		}
		p.before = p.offset
		if !start.IsZero() {
			p.start, p.before = start.Unix(), offset(start.Add(-time.Second))
		}
		if u := min(c.inPeriod(p), c.inGap(p)); u < p.end {
			return time.Unix(u, 0).UTC()
		}
		from = p.end
	}
	return time.Time{}
}

// period is a time of equal offset, in Unix seconds. Only times from from on are wanted.
type period struct {
	start, from, end int64
	before, offset   int64 // from UTC, before and since the start
}

// inPeriod returns the first time in the period that clocks show, or its end. A time of the day that clocks showed in the
// period before is not wanted again, unless the expression follows real time.
func (c *cron) inPeriod(p period) int64 {
	wall := p.from + p.offset
	if !c.realTime && p.before > p.offset {
		wall = max(wall, p.start+p.before)
	}
	return c.first(wall, p.end+p.offset) - p.offset
}

// inGap returns the first time in the period that stands for times which the clocks skipped at its start, or its end. A
// skipped time of the day is due when the period begins. In real time it comes when it would have come without the change.
func (c *cron) inGap(p period) int64 {
	if p.before >= p.offset {
		return p.end
	}
	gap, gapEnd := p.start+p.before, p.start+p.offset
	if c.realTime {
		gap = max(gap, p.from+p.before)
	} else if p.from > p.start {
		return p.end
	}
	switch w := c.first(gap, gapEnd); {
	case w >= gapEnd:
		return p.end
	case c.realTime:
		return min(w-p.before, p.end)
	}
	return p.start
}
