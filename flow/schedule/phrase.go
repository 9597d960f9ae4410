package schedule

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const startWithDays = "Start with days, such as “weekdays”, “Mondays and Fridays”, “last day of the month” or “every 65 minutes”."

// maxPhrase bounds the text that ParsePhrase reads, in bytes.
const maxPhrase = 200

// Phrase describes when the schedule runs, without its bounds: what ParsePhrase reads.
func (s *Schedule) Phrase() string {
	text, zoned := s.words()
	if zoned {
		text += ", " + City(s.spec.Timezone)
	}
	return text
}

// ParsePhrase reads a schedule that people write, such as "weekdays at 9, Berlin", "every 65 minutes", "last day of the month at
// 18:00" or a crontab expression. Timezone is set if the text names one. problem says what is missing, or is "".
func ParsePhrase(text string) (spec Spec, problem string) {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxPhrase {
		return spec, "Write it in fewer words."
	}
	text, spec.Timezone = cutZone(text)
	if expression, ok := cronText(text); ok {
		spec.Cron = expression
		return spec, ""
	}
	text = strings.ToLower(text)
	if spec.Every = everyOf(text); spec.Every != "" {
		return spec, ""
	}
	if rest, ok := strings.CutPrefix(text, "once"); ok {
		spec.At, problem = onceOf(rest)
		return spec, problem
	}
	spec.Cron, problem = cronOf(text)
	return spec, problem
}

// cutZone removes a time zone from the end of a text.
func cutZone(text string) (rest, zone string) {
	for _, mark := range []string{",", " in "} {
		if i := strings.LastIndex(text, mark); i >= 0 {
			if name, ok := findZone(text[i+len(mark):]); ok {
				return strings.TrimSpace(text[:i]), name
			}
		}
	}
	for i := strings.LastIndex(text, " "); i >= 0; i = strings.LastIndex(text[:i], " ") { // after the time: "at 9 am New York"
		if name, ok := findZone(text[i+1:]); ok && endsInTime.MatchString(text[:i]) {
			return text[:i], name
		}
	}
	return text, ""
}

var endsInTime = regexp.MustCompile(`(?i)(?: \d{1,2}|:\d{2}|\d ?[ap]m|noon|midnight)$`)

var cronField = regexp.MustCompile(`^[0-9A-Za-z*/,#-]*[0-9*L][0-9A-Za-z*/,#-]*$|^[A-Za-z]{3}([,-][A-Za-z]{3})*$`)

// cronText returns the crontab expression that a text is.
func cronText(text string) (expression string, ok bool) {
	if len(text) > 4 && strings.EqualFold(text[:5], "cron ") {
		return text[5:], true
	}
	if strings.HasPrefix(text, "@") {
		return text, true
	}
	fields := strings.Fields(text)
	return text, len(fields) == 5 && !slices.ContainsFunc(fields, func(f string) bool { return !cronField.MatchString(f) })
}

var everyForm = regexp.MustCompile(`^every (?:(\d{1,6}) ?)?(minute|min|m|hour|h|day|d)s?$`)

// everyOf returns the interval that a text describes, or "".
func everyOf(text string) string {
	switch text {
	case "hourly":
		return "1h"
	case "every day": // needs a time
		return ""
	}
	m := everyForm.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	if m[1] == "" {
		m[1] = "1"
	}
	return m[1] + m[2][:1]
}

var dateForms = []string{time.DateOnly, "Jan 2, 2006", "January 2, 2006", "Jan 2 2006", "January 2 2006", "2 Jan 2006", "2 January 2006"}

// onceOf reads "on Dec 24, 2026 at 18:00".
func onceOf(text string) (at, problem string) {
	day, clock, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "on "), " at ")
	times, ok := parseClock(clock)
	for _, form := range dateForms {
		if d, err := time.Parse(form, strings.TrimSpace(day)); err == nil && ok && len(times) == 1 {
			return fmt.Sprintf("%sT%02d:%02d", d.Format(time.DateOnly), times[0]/60, times[0]%60), ""
		}
	}
	return "", "Write a date and a time, such as “once on 2026-12-24 at 6:00 PM”."
}

var (
	minuteForm = regexp.MustCompile(`^every (?:(\d{1,2}) )?hours? at minute (\d{1,2})$`)
	oftenForm  = regexp.MustCompile(`^(.+), every (?:(\d{1,2}) )?(minute|hour)s?(?: at minute (\d{1,2}))?$`)
	lastTime   = regexp.MustCompile(`^(.*?),? ((?:\d{1,2}(?::\d{2})? ?(?:am|pm)?|noon|midnight)(?:(?:,| and|, and) (?:\d{1,2}(?::\d{2})? ?(?:am|pm)?|noon|midnight))*)$`)
)

// cronOf reads days and times of day.
func cronOf(text string) (expression, problem string) {
	if m := minuteForm.FindStringSubmatch(text); m != nil {
		return m[2] + " " + stepOf(m[1]) + " * * *", ""
	}
	if m := oftenForm.FindStringSubmatch(text); m != nil {
		days, problem := dayFields(m[1])
		if problem != "" {
			return "", problem
		}
		if m[3] == "hour" {
			if m[4] == "" {
				m[4] = "0"
			}
			return m[4] + " " + stepOf(m[2]) + " " + days, ""
		}
		return stepOf(m[2]) + " * " + days, ""
	}
	days, clock, found := strings.Cut(text, " at ")
	if !found {
		if rest, ok := strings.CutPrefix(text, "at "); ok {
			days, clock, found = "every day", rest, true
		} else if m := lastTime.FindStringSubmatch(text); m != nil {
			days, clock, found = m[1], m[2], true
		}
	}
	fields, problem := dayFields(days)
	if problem != "" {
		return "", problem
	}
	if text == "" {
		return "", startWithDays
	}
	if !found {
		return "", "Add a time, such as “at 9:00 AM”."
	}
	clockFields, problem := ClockFields(clock)
	if problem != "" {
		return "", problem
	}
	return clockFields + " " + fields, ""
}

// stepOf returns the field of every n units.
func stepOf(n string) string {
	if n == "" || n == "1" {
		return "*"
	}
	return "*/" + n
}

// ClockFields returns the fields minute and hour of times of day such as "09:00 and 18:00".
func ClockFields(text string) (fields, problem string) {
	times, ok := parseClock(text)
	if !ok {
		return "", "Write the time as 9:00 AM or 09:00."
	}
	var minutes, hours []int
	for _, t := range times {
		minutes, hours = append(minutes, t%60), append(hours, t/60)
	}
	slices.Sort(minutes)
	slices.Sort(hours)
	minutes, hours = slices.Compact(minutes), slices.Compact(hours)
	if len(minutes)*len(hours) != len(times) {
		return "", "Times in one schedule need the same minute, such as 9:30 AM and 6:30 PM. Make two schedules."
	}
	return numbers(minutes) + " " + numbers(hours), ""
}

// numbers writes a field.
func numbers(list []int) string {
	var texts []string
	for _, n := range list {
		texts = append(texts, strconv.Itoa(n))
	}
	return strings.Join(texts, ",")
}

var clockForm = regexp.MustCompile(`^(\d{1,2})(?::(\d{2}))? ?(am|pm)?$`)

// parseClock reads times of day, in minutes after midnight. They are sorted, each once.
func parseClock(text string) (times []int, ok bool) {
	for _, part := range listOf(text) {
		switch part {
		case "noon":
			part = "12:00"
		case "midnight":
			part = "00:00"
		}
		m := clockForm.FindStringSubmatch(part)
		if m == nil {
			return nil, false
		}
		hour, _ := strconv.Atoi(m[1])
		minute, _ := strconv.Atoi(m[2])
		if m[3] != "" {
			if hour < 1 || hour > 12 {
				return nil, false
			}
			if hour %= 12; m[3] == "pm" {
				hour += 12
			}
		}
		if hour > 23 || minute > 59 {
			return nil, false
		}
		times = append(times, hour*60+minute)
	}
	slices.Sort(times)
	return slices.Compact(times), len(times) > 0
}

// listOf splits "a, b and c".
func listOf(text string) (list []string) {
	text = strings.NewReplacer(" and ", ",", "&", ",", ";", ",").Replace(strings.ToLower(text))
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// dayFields returns the fields day, month and weekday of days such as "Mondays and Fridays in May".
func dayFields(text string) (fields, problem string) {
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(text, "on "), ","))
	month := "*"
	if days, months, ok := strings.Cut(text, " in "); ok {
		if month = namesOf(months, monthOf); month == "" {
			return "", "Write months such as “in March and September”."
		}
		text = days
	}
	if rest, ok := strings.CutPrefix(text, "every year on "); ok {
		for _, form := range []string{"January 2", "Jan 2", "2 January", "2 Jan"} {
			if d, err := time.Parse(form, rest); err == nil {
				return fmt.Sprintf("%d %d *", d.Day(), int(d.Month())), ""
			}
		}
		return "", "Write a day such as “every year on March 3”."
	}
	switch strings.TrimPrefix(text, "every ") {
	case "", "day", "daily":
		return "* " + month + " *", ""
	case "weekday", "weekdays", "working day", "workday", "workdays":
		return "* " + month + " 1-5", ""
	case "weekend", "weekends":
		return "* " + month + " 0,6", ""
	case "month", "monthly", "first day of the month":
		return "1 " + month + " *", ""
	}
	if day := monthDaysOf(text); day != "" {
		return day + " " + month + " *", ""
	}
	if weekdays := namesOf(strings.TrimPrefix(text, "every "), weekdayOf); weekdays != "" {
		return "* " + month + " " + weekdays, ""
	}
	return "", startWithDays
}

// namesOf writes the field of a list whose items read maps to a field.
func namesOf(text string, read func(string) string) string {
	var list []string
	for _, item := range listOf(text) {
		field := read(item)
		if field == "" {
			return ""
		}
		list = append(list, field)
	}
	return strings.Join(list, ",")
}

// monthOf returns the number of a month by its name.
func monthOf(name string) string {
	for m := time.January; m <= time.December; m++ {
		if long := strings.ToLower(m.String()); name == long || name == long[:3] {
			return strconv.Itoa(int(m))
		}
	}
	return ""
}

var ordinals = []string{"1st", "2nd", "3rd", "4th", "5th", "first", "second", "third", "fourth", "fifth"}

// weekdayOf returns the field of a weekday, a range of them, or one such as "first Monday of the month".
func weekdayOf(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "the "), "every ")
	if rest, ok := strings.CutSuffix(name, " of the month"); ok {
		which, day, _ := strings.Cut(rest, " ")
		n := weekdayNumber(day)
		if i := slices.Index(ordinals, which); i >= 0 && n != "" {
			return n + "#" + strconv.Itoa(i%5+1)
		}
		if which == "last" && n != "" {
			return n + "L"
		}
		return ""
	}
	for _, mark := range []string{" to ", "-", "–", " through "} {
		if from, to, ok := strings.Cut(name, mark); ok {
			first, last := weekdayNumber(from), weekdayNumber(to)
			if last == "0" {
				last = "7"
			}
			if first == "" || last == "" || first > last {
				return ""
			}
			return first + "-" + last
		}
	}
	return weekdayNumber(name)
}

// weekdayNumber returns the number of a weekday by its name, or "".
func weekdayNumber(name string) string {
	for d := time.Sunday; d <= time.Saturday; d++ {
		long := strings.ToLower(d.String())
		if name = strings.TrimSpace(name); len(name) >= 2 && (name == long+"s" || strings.HasPrefix(long, name)) {
			return strconv.Itoa(int(d))
		}
	}
	return ""
}

var dayForm = regexp.MustCompile(`^(?:the )?(?:day )?(\d{1,2})(?:st|nd|rd|th)?$`)

// monthDaysOf returns the field of days of the month, such as "day 1, 15 and the last day of the month".
func monthDaysOf(text string) string {
	rest, of := strings.CutSuffix(strings.TrimPrefix(text, "every "), " of the month")
	rest, each := strings.CutSuffix(rest, " of every month")
	if !of && !each {
		rest = strings.TrimSuffix(rest, " monthly")
	}
	return namesOf(strings.TrimPrefix(rest, "month on "), func(item string) string {
		if item = strings.TrimPrefix(item, "the "); item == "last day" || item == "last" {
			return "L"
		}
		m := dayForm.FindStringSubmatch(item)
		if m == nil {
			return ""
		}
		n, _ := strconv.Atoi(m[1])
		if n < 1 || n > 31 {
			return ""
		}
		return strconv.Itoa(n)
	})
}
