package schedule

import (
	"reflect"
	"testing"
	"time"
)

func TestParsePhrase(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Spec{
		"weekdays at 9":                                 {Cron: "0 9 * * 1-5"},
		"Weekdays at 09:00, Berlin":                     {Cron: "0 9 * * 1-5", Timezone: "Europe/Berlin"},
		"Every weekday 9am in New York":                 {Cron: "0 9 * * 1-5", Timezone: "America/New_York"},
		"every 65 minutes":                              {Every: "65m"},
		"Every hour":                                    {Every: "1h"},
		"every 2 days":                                  {Every: "2d"},
		"last day of the month at 18:00, Berlin":        {Cron: "0 18 L * *", Timezone: "Europe/Berlin"},
		"Mondays and Fridays at 8:30 and 17:30":         {Cron: "30 8,17 * * 1,5"},
		"mon-fri at noon":                               {Cron: "0 12 * * 1-5"},
		"every day at midnight":                         {Cron: "0 0 * * *"},
		"daily at 7pm, UTC":                             {Cron: "0 19 * * *", Timezone: "UTC"},
		"Weekdays at 9:00 AM and 6:00 PM, Berlin":       {Cron: "0 9,18 * * 1-5", Timezone: "Europe/Berlin"},
		"Mondays and Thursdays at 7 pm Europe/London":   {Cron: "0 19 * * 1,4", Timezone: "Europe/London"},
		"mon,wed,fri 18:00 New York":                    {Cron: "0 18 * * 1,3,5", Timezone: "America/New_York"},
		"weekdays at noon Buenos Aires":                 {Cron: "0 12 * * 1-5", Timezone: "America/Argentina/Buenos_Aires"},
		"at 6:15":                                       {Cron: "15 6 * * *"},
		"2nd friday of the month at 10":                 {Cron: "0 10 * * 5#2"},
		"last Friday of the month at 10:00":             {Cron: "0 10 * * 5L"},
		"Day 1 and 15 of the month in March at 9:00":    {Cron: "0 9 1,15 3 *"},
		"the 15th of every month at 9":                  {Cron: "0 9 15 * *"},
		"every year on March 3 at 09:00, Berlin":        {Cron: "0 9 3 3 *", Timezone: "Europe/Berlin"},
		"once on Dec 24, 2026 at 18:00, Europe/Berlin":  {At: "2026-12-24T18:00", Timezone: "Europe/Berlin"},
		"Weekdays, every 15 minutes":                    {Cron: "*/15 * * * 1-5"},
		"every hour at minute 30":                       {Cron: "30 * * * *"},
		"0 9 * * 1-5":                                   {Cron: "0 9 * * 1-5"},
		"Cron 0 9 1 * MON":                              {Cron: "0 9 1 * MON"},
		"@daily":                                        {Cron: "@daily"},
		"Saturdays and Sundays at 9:00, Buenos Aires":   {Cron: "0 9 * * 6,0", Timezone: "America/Argentina/Buenos_Aires"},
		"weekends at 9:00 and 9:30 and 10:00 and 10:30": {Cron: "0,30 9,10 * * 0,6"},
	} {
		got, problem := ParsePhrase(text)
		if problem != "" || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v %s, want %+v", text, got, problem, want)
		}
	}
	for text, want := range map[string]string{
		"":                          "Start with days, such as “weekdays”, “Mondays and Fridays”, “last day of the month” or “every 65 minutes”.",
		"weekdays":                  "Add a time, such as “at 9:00 AM”.",
		"weekdays at nine":          "Write the time as 9:00 AM or 09:00.",
		"weekdays at 25:00":         "Write the time as 9:00 AM or 09:00.",
		"every day at 9 and 10:30":  "Times in one schedule need the same minute, such as 9:30 AM and 6:30 PM. Make two schedules.",
		"once on a sunny day at 9":  "Write a date and a time, such as “once on 2026-12-24 at 6:00 PM”.",
		"every day in Juneish at 9": "Write months such as “in March and September”.",
	} {
		if _, problem := ParsePhrase(text); problem != want {
			t.Errorf("%q: %q, want %q", text, problem, want)
		}
	}
}

// TestParsePhrase_reads_what_Phrase_writes checks that the phrase of a schedule has the same times.
func TestParsePhrase_reads_what_Phrase_writes(t *testing.T) {
	t.Parallel()
	for _, spec := range []Spec{
		{Cron: "0 9 * * 1-5", Timezone: "Europe/Berlin"}, {Cron: "30 8,17 * * 1,5", Timezone: "America/New_York"}, {Cron: "0 18 L * *", Timezone: "Asia/Kathmandu"},
		{Cron: "0 0 1 * *"}, {Cron: "0 9 1,15 3,9 *"}, {Cron: "0 9 3 3 *"}, {Cron: "*/15 * * * *"}, {Cron: "*/15 * * * 1-5"}, {Cron: "30 * * * *"}, {Cron: "5 */2 * * *"}, {Cron: "0 10 * * 5#2"}, {Cron: "0 10 * * 5L"},
		{Cron: "1,2,3,4,5,6 9 * * *"}, {Cron: "0 9 1 * 1"}, {Cron: "* * * * *"}, {Cron: "0 * * * 6,0"}, {Every: "65m"}, {Every: "1h"}, {Every: "13h"}, {Every: "2d"}, {At: "2027-12-24T18:00", Timezone: "Europe/Berlin"},
	} {
		s := parse(t, spec)
		got, problem := ParsePhrase(s.Phrase())
		if problem != "" {
			t.Errorf("%+v: %q: %s", spec, s.Phrase(), problem)
			continue
		}
		again, problems := Parse(got, s.Timezone())
		now := time.Date(2026, 11, 28, 20, 0, 0, 0, time.UTC)
		if len(problems) > 0 || !reflect.DeepEqual(again.NextN(now, 50), s.NextN(now, 50)) {
			t.Errorf("%+v is %q, which is read as %+v %v", spec, s.Phrase(), got, problems)
		}
	}
}

// TestFields_describe_the_same_schedule checks that the fields of a form give the schedule back.
func TestFields_describe_the_same_schedule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec   Spec
		repeat Repeat
	}{
		{Spec{Cron: "0 9 * * 1-5"}, RepeatDays}, {Spec{Cron: "0 9 * * *"}, RepeatDays}, {Spec{Cron: "30 8,17 * * 1,5"}, RepeatDays}, {Spec{Cron: "0 18 L * *"}, RepeatMonthly}, {Spec{Cron: "0 9 15 * *"}, RepeatMonthly},
		{Spec{Every: "65m"}, RepeatInterval}, {Spec{Every: "1h30m"}, RepeatInterval}, {Spec{At: "2026-12-24T18:00"}, RepeatOnce}, {Spec{At: "2026-12-24T18:00:00Z"}, RepeatOnce},
		{Spec{Cron: "*/5 * * * *"}, RepeatCron}, {Spec{Cron: "0 10 * * 5#2"}, RepeatCron}, {Spec{Cron: "0 9 1 3 *"}, RepeatCron}, {Spec{Cron: "0 9 1 * 1"}, RepeatCron},
	} {
		f := FieldsOf(c.spec)
		got, field, problem := f.Spec()
		if f.Repeat != c.repeat || problem != "" || !reflect.DeepEqual(got, c.spec) {
			t.Errorf("%+v: %+v gives %+v, %s %s", c.spec, f, got, field, problem)
		}
	}
	for _, c := range []struct {
		f     Fields
		field string
	}{
		{Fields{Repeat: RepeatDays, Time: "09:00"}, "days"}, {Fields{Repeat: RepeatDays, Days: [7]bool{true}, Time: "late"}, "time"}, {Fields{Repeat: RepeatInterval, Count: "0", Unit: "m"}, "count"},
		{Fields{Repeat: RepeatMonthly, Time: "9", Day: "32"}, "day"}, {Fields{Repeat: RepeatOnce, Time: "9"}, "date"}, {Fields{Repeat: RepeatOnce, Date: "2026-12-24"}, "time"}, {Fields{Repeat: RepeatCron, Cron: "x"}, "cron"},
	} {
		if _, field, problem := c.f.Spec(); field != c.field || problem == "" {
			t.Errorf("%+v: %q %q, want a problem of %s", c.f, field, problem, c.field)
		}
	}
}

// FuzzParsePhrase checks that every text gives a schedule or a problem, and no panic.
func FuzzParsePhrase(f *testing.F) {
	for _, text := range []string{"weekdays at 9, Berlin", "every 65 minutes", "last day of the month at 18:00", "once on Dec 24, 2026 at 18:00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		spec, problem := ParsePhrase(text)
		if problem == "" && spec.Cron == "" && spec.Every == "" && spec.At == "" {
			t.Errorf("%q gives neither a schedule nor a problem", text)
		}
		fields := FieldsOf(spec)
		_, _, _ = fields.Spec()
	})
}
