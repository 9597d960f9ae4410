package schedule

import (
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Repeat is the way in which a form describes a schedule.
type Repeat string

// Ways of Fields.
const (
	RepeatDays     Repeat = "days"     // some weekdays, at times of day
	RepeatInterval Repeat = "interval" // every so often
	RepeatMonthly  Repeat = "monthly"  // a day of the month
	RepeatOnce     Repeat = "once"
	RepeatCron     Repeat = "cron" // anything else
)

// Fields is a schedule as the fields of a form. It has no bounds and no time zone.
type Fields struct {
	Repeat Repeat
	Days   [7]bool // by time.Weekday
	Time   string  // times of day, such as "9:00 AM and 6:00 PM"
	Count  string  // of Unit
	Unit   string  // m, h or d
	Day    string  // of the month, or L
	Date   string
	Cron   string
}

var simpleEvery = regexp.MustCompile(`^(\d{1,6})([mhd])$`)

// FieldsOf returns the fields of a form that describe a schedule.
func FieldsOf(spec Spec) Fields {
	f := Fields{Repeat: RepeatCron, Cron: spec.Cron, Unit: "m", Day: "1", Count: "15", Time: "9:00 AM"}
	for d := time.Monday; d <= time.Friday; d++ {
		f.Days[d] = true
	}
	switch {
	case spec.At != "":
		f.Repeat, f.Date = RepeatOnce, spec.At
		if day, clock, ok := strings.Cut(strings.Replace(spec.At, " ", "T", 1), "T"); ok && len(clock) == 5 {
			f.Date, f.Time = day, clock
			if times, ok := parseClock(clock); ok {
				f.Time = clockText(times[0])
			}
		}
		return f
	case spec.Every != "":
		f.Repeat, f.Count = RepeatInterval, spec.Every
		if m := simpleEvery.FindStringSubmatch(spec.Every); m != nil {
			f.Count, f.Unit = m[1], m[2]
		}
		return f
	}
	c, problem := parseCron(spec.Cron)
	if problem != "" {
		return f
	}
	times, often := c.timeWords()
	if often || times == "" || c.fields[3] != "*" {
		return f
	}
	day, weekday := c.fields[2], c.fields[4]
	switch {
	case day == "*" && c.nth == [7]uint8{}:
		f.Repeat, f.Time = RepeatDays, times
		for d := range f.Days {
			f.Days[d] = weekday == "*" || c.weekdays&(1<<d) != 0
		}
	case weekday == "*" && c.lastDay && c.days == 0:
		f.Repeat, f.Time, f.Day = RepeatMonthly, times, "L"
	case weekday == "*" && !c.lastDay && bits.OnesCount64(c.days) == 1:
		f.Repeat, f.Time, f.Day = RepeatMonthly, times, strconv.Itoa(bits.TrailingZeros64(c.days))
	}
	return f
}

// Spec returns the schedule that the fields describe. If one of them is wrong, problem says what, and field names it.
func (f *Fields) Spec() (spec Spec, field, problem string) {
	switch f.Repeat {
	case RepeatInterval:
		spec.Every = strings.TrimSpace(f.Count)
		if _, err := strconv.Atoi(spec.Every); err == nil {
			spec.Every += f.Unit
		}
		_, problem = ParseInterval(spec.Every)
		if problem != "" {
			problem = "The interval " + problem + "."
		}
		return spec, "count", problem
	case RepeatOnce:
		spec.At = strings.TrimSpace(f.Date)
		if _, err := time.Parse(time.DateOnly, spec.At); err == nil {
			times, ok := parseClock(f.Time)
			if !ok || len(times) != 1 {
				return spec, "time", "Write the time as 9:00 AM or 09:00."
			}
			spec.At = fmt.Sprintf("%sT%02d:%02d", spec.At, times[0]/60, times[0]%60)
		}
		if spec.At == "" {
			return spec, "date", "Choose a date."
		}
		return spec, "", ""
	case RepeatCron:
		spec.Cron = strings.TrimSpace(f.Cron)
		if _, problem = parseCron(spec.Cron); problem != "" {
			problem = "The expression " + problem + "."
		}
		return spec, "cron", problem
	}
	clock, problem := ClockFields(f.Time)
	if problem != "" {
		return spec, "time", problem
	}
	if f.Repeat == RepeatMonthly {
		spec.Cron = clock + " " + f.Day + " * *"
		if _, problem := parseCron(spec.Cron); problem != "" {
			return spec, "day", "Choose a day of the month."
		}
		return spec, "", ""
	}
	days := f.weekdays()
	if days == "" {
		return spec, "days", "Choose at least one day."
	}
	spec.Cron = clock + " * * " + days
	return spec, "", ""
}

// weekdays writes the chosen days as a field of a crontab expression, or "" for none.
func (f *Fields) weekdays() string {
	var list []int
	for d, on := range f.Days {
		if on {
			list = append(list, d)
		}
	}
	switch {
	case len(list) == 7:
		return "*"
	case slices.Equal(list, []int{1, 2, 3, 4, 5}):
		return "1-5"
	}
	return numbers(list)
}
