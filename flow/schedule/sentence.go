package schedule

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sentence describes the schedule in words, such as "Weekdays at 9:00 AM, Berlin". An expression that has no short description
// is quoted.
func (s *Schedule) Sentence() string {
	text := s.Phrase()
	if s.spec.From != "" {
		text += ", from " + s.spec.From
	}
	if s.spec.Until != "" {
		text += ", until " + s.spec.Until
	}
	if n := len(s.except); n == 1 {
		text += ", except " + strings.ReplaceAll(s.spec.Except[0], "/", " to ")
	} else if n > 1 {
		text += fmt.Sprintf(", with %d exceptions", n)
	}
	return text
}

// City returns the name of a time zone as people say it: Berlin for Europe/Berlin.
func City(timezone string) string {
	return strings.ReplaceAll(timezone[strings.LastIndexByte(timezone, '/')+1:], "_", " ")
}

// words describes when the schedule runs, and whether that depends on the time zone.
func (s *Schedule) words() (text string, zoned bool) {
	switch {
	case s.cron != nil:
		return s.cron.words()
	case s.every > 0:
		return "Every " + interval(s.every), false
	}
	return "Once on " + s.at.In(s.location).Format("Jan 2, 2006 at 3:04 PM"), true
}

// interval describes a number of seconds in the largest unit that divides it.
func interval(seconds int64) string {
	n, unit := seconds/60, "minute"
	if seconds%daySeconds == 0 {
		n, unit = seconds/daySeconds, "day"
	} else if seconds%3600 == 0 {
		n, unit = seconds/3600, "hour"
	}
	if n == 1 {
		return unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// words describes an expression.
func (c *cron) words() (text string, zoned bool) {
	days, daily := c.dayWords()
	times, often := c.timeWords()
	switch {
	case days == "" || times == "":
		return "Cron " + strings.Join(c.fields, " "), true
	case often && daily:
		return times, strings.Contains(times, " and ") || strings.Contains(times, "between")
	case often:
		return days + ", " + strings.ToLower(times[:1]) + times[1:], true
	}
	return days + " at " + times, true
}

// timeWords describes minute and hour: "9:00 AM and 6:00 PM", or an interval, for which often is true.
func (c *cron) timeWords() (text string, often bool) {
	minute, hour := c.fields[0], c.fields[1]
	oneMinute := bits.OnesCount64(c.minutes) == 1
	at := bits.TrailingZeros64(c.minutes)
	step := func(field string) string {
		if n, ok := strings.CutPrefix(field, "*/"); ok {
			return n
		}
		return ""
	}
	switch {
	case hour == "*" && minute == "*":
		return "Every minute", true
	case hour == "*" && step(minute) != "" && 60%bits.OnesCount64(c.minutes) == 0:
		return fmt.Sprintf("Every %s minutes", step(minute)), true
	case hour == "*" && oneMinute && at == 0:
		return "Every hour", true
	case hour == "*" && oneMinute:
		return fmt.Sprintf("Every hour at minute %d", at), true
	case oneMinute && step(hour) != "" && 24%bits.OnesCount64(c.hours) == 0:
		text = fmt.Sprintf("Every %s hours", step(hour))
		if at != 0 {
			text += fmt.Sprintf(" at minute %d", at)
		}
		return text, true
	}
	if n := bits.OnesCount64(c.minutes) * bits.OnesCount64(c.hours); n > 4 {
		return "", false
	}
	var list []string
	for m := c.firstMinute(0); m >= 0; m = c.firstMinute(m + 1) {
		list = append(list, clockText(m))
		if m == 24*60-1 {
			break
		}
	}
	return join(list), false
}

// clockText writes a time of day, in minutes after midnight, as in the US: 9:00 AM.
func clockText(minutes int) string {
	return time.Time{}.Add(time.Duration(minutes) * time.Minute).Format("3:04 PM")
}

// dayWords describes days, months and weekdays; daily means every day.
func (c *cron) dayWords() (text string, daily bool) {
	day, month, weekday := c.fields[2], c.fields[3], c.fields[4]
	if day != "*" && weekday != "*" || day != "*" && strings.HasPrefix(day, "*") {
		return "", false
	}
	months := c.monthWords()
	switch {
	case day == "*" && weekday == "*" && month == "*":
		return "Every day", true
	case day == "*" && weekday == "*":
		return "Every day in " + months, false
	case day == "*":
		text = c.weekdayWords()
	case month == "*":
		text, months = c.monthDays()+" of the month", ""
	case bits.OnesCount64(c.months) == 1 && !c.lastDay && bits.OnesCount64(c.days) == 1:
		return fmt.Sprintf("Every year on %s %d", months, bits.TrailingZeros64(c.days)), false
	default:
		text = c.monthDays()
	}
	if text != "" && month != "*" {
		text += " in " + months
	}
	return text, false
}

// monthDays describes days of the month.
func (c *cron) monthDays() string {
	var list []string
	for d := 1; d <= 31; d++ {
		if c.days&(1<<d) != 0 {
			list = append(list, strconv.Itoa(d))
		}
	}
	if len(list) > 0 {
		list[0] = "Day " + list[0]
	}
	switch {
	case c.lastDay && len(list) == 0:
		return "Last day"
	case c.lastDay:
		list = append(list, "the last day")
	}
	return join(list)
}

// weekdayWords describes weekdays.
func (c *cron) weekdayWords() string {
	var list []string
	for i := range 7 {
		d := time.Weekday((i + 1) % 7)
		if c.weekdays&(1<<d) != 0 {
			list = append(list, d.String()+"s")
		}
		for n := 1; n <= 6; n++ {
			if c.nth[d]&(1<<n) != 0 {
				list = append(list, []string{"", "1st", "2nd", "3rd", "4th", "5th", "Last"}[n]+" "+d.String()+" of the month")
			}
		}
	}
	switch {
	case c.nth == [7]uint8{} && c.weekdays == 0x3e:
		return "Weekdays"
	case c.nth == [7]uint8{} && c.weekdays == 0x41:
		return "Weekends"
	case c.nth == [7]uint8{} && c.weekdays == 0x7f:
		return "Every day"
	}
	return join(list)
}

// monthWords describes months.
func (c *cron) monthWords() string {
	var list []string
	for m := time.January; m <= time.December; m++ {
		if c.months&(1<<m) != 0 {
			list = append(list, m.String())
		}
	}
	return join(list)
}

// join writes a list as "a, b and c".
func join(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(slices.Clone(list[:len(list)-1]), ", ") + " and " + list[len(list)-1]
}
