package schedule

import (
	"slices"
	"testing"
	"time"
)

// parse returns a schedule that must be right.
func parse(t *testing.T, spec Spec) *Schedule {
	t.Helper()
	s, problems := Parse(spec, "Europe/Berlin")
	if len(problems) > 0 {
		t.Fatalf("%+v: %v", spec, problems)
	}
	return s
}

// at reads a time with an offset.
func at(t *testing.T, text string) time.Time {
	t.Helper()
	m, err := time.Parse("2006-01-02T15:04Z07:00", text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestNext_at_clock_changes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spec  Spec
		after string
		want  []string
	}{
		"a skipped time runs after the gap":           {Spec{Cron: "30 2 * * *"}, "2027-03-27T12:00Z", []string{"2027-03-28T03:00+02:00", "2027-03-29T02:30+02:00"}},
		"several skipped times run once":              {Spec{Cron: "*/10 2 * * *"}, "2027-03-27T12:00Z", []string{"2027-03-28T03:00+02:00", "2027-03-29T02:00+02:00"}},
		"a repeated time runs first":                  {Spec{Cron: "30 2 * * *"}, "2027-10-30T12:00Z", []string{"2027-10-31T02:30+02:00", "2027-11-01T02:30+01:00"}},
		"hours go on in the gap":                      {Spec{Cron: "30 * * * *"}, "2027-03-28T00:00Z", []string{"2027-03-28T01:30+01:00", "2027-03-28T03:30+02:00"}},
		"hours go on in the fold":                     {Spec{Cron: "30 * * * *"}, "2027-10-30T23:00Z", []string{"2027-10-31T01:30+02:00", "2027-10-31T02:30+02:00", "2027-10-31T02:30+01:00", "2027-10-31T03:30+01:00"}},
		"intervals follow real time":                  {Spec{Every: "13h", Anchor: "2027-03-27T12:00"}, "2027-03-27T11:00Z", []string{"2027-03-28T01:00+01:00", "2027-03-28T15:00+02:00"}},
		"all hours are an interval":                   {Spec{Cron: "0 0-23 * * *"}, "2027-10-31T00:00Z", []string{"2027-10-31T02:00+01:00", "2027-10-31T03:00+01:00"}},
		"a zone may skip midnight":                    {Spec{Cron: "0 */12 * * *", Timezone: "Africa/Cairo"}, "2027-04-29T12:00Z", []string{"2027-04-30T01:00+03:00", "2027-04-30T12:00+03:00"}},
		"a single time may be skipped":                {Spec{At: "2027-03-28T02:30"}, "2027-01-01T00:00Z", []string{"2027-03-28T03:00+02:00", ""}},
		"a single time may be repeated":               {Spec{At: "2027-10-31T02:30"}, "2027-01-01T00:00Z", []string{"2027-10-31T02:30+02:00", ""}},
		"a time with an offset is meant exactly":      {Spec{At: "2027-10-31T02:30:00+01:00"}, "2027-01-01T00:00Z", []string{"2027-10-31T02:30+01:00", ""}},
		"west of Greenwich, a single time is skipped": {Spec{At: "2027-03-14T02:30", Timezone: "America/New_York"}, "2027-01-01T00:00Z", []string{"2027-03-14T03:00-04:00", ""}},
		"west of Greenwich, it is repeated":           {Spec{At: "2027-11-07T01:30", Timezone: "America/New_York"}, "2027-01-01T00:00Z", []string{"2027-11-07T01:30-04:00", ""}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := parse(t, tt.spec)
			now := at(t, tt.after)
			for _, want := range tt.want {
				next := s.Next(now)
				if want == "" {
					if !next.IsZero() {
						t.Fatalf("after %s comes %s, want nothing", now, next)
					}
					return
				}
				if !next.Equal(at(t, want)) {
					t.Fatalf("after %s comes %s, want %s", now, next.In(s.Location()), want)
				}
				now = next
			}
		})
	}
}

func TestNext_within_bounds(t *testing.T) {
	t.Parallel()
	days := func(s *Schedule, after string, n int) (list []string) {
		for _, m := range s.NextN(at(t, after), n) {
			list = append(list, m.In(s.Location()).Format(time.DateOnly))
		}
		return list
	}
	s := parse(t, Spec{Cron: "0 9 * * *", From: "2026-12-23", Until: "2026-12-29", Except: []string{"2026-12-25/2026-12-26", "2026-12-28"}})
	if got, want := days(s, "2026-11-01T00:00Z", 9), []string{"2026-12-23", "2026-12-24", "2026-12-27", "2026-12-29"}; !slices.Equal(got, want) {
		t.Errorf("times are %v, want %v", got, want)
	}
	s = parse(t, Spec{Every: "2d", Anchor: "2026-12-01T08:00", From: "2026-12-02T08:00"})
	if got, want := days(s, "2020-11-01T00:00Z", 2), []string{"2026-12-03", "2026-12-05"}; !slices.Equal(got, want) {
		t.Errorf("times are %v, want %v", got, want)
	}
	s = parse(t, Spec{Every: "1d", From: "2026-12-02"})
	if got := s.Next(at(t, "2026-01-01T00:00Z")); got.Before(at(t, "2026-12-01T23:00Z")) {
		t.Errorf("a schedule starts at %s, before its first day", got)
	}
}

func TestParse_names_the_field_that_is_wrong(t *testing.T) {
	t.Parallel()
	for field, list := range map[string][]Spec{
		"cron": {
			{}, {Cron: "* * * * * *"}, {Cron: "60 * * * *"}, {Cron: "@reboot"}, {Cron: "0 24 * * *"}, {Cron: "0 0 0 * *"}, {Cron: "0 0 * 13 *"}, {Cron: "0 0 * * 8"},
			{Cron: "0 0 * * 5#6"}, {Cron: "0 0 * * 9#2"}, {Cron: "5-1 * * * *"}, {Cron: "*/0 * * * *"}, {Cron: "a * * * *"}, {Cron: "0 0 30 2 *"}, {Cron: "-1 * * * *"},
			{Cron: "0 9 * * *", Every: "1h"}, {Cron: "0 9 * * *", From: "2026-12-01", Until: "2026-12-02", Except: []string{"2026-12-01/2026-12-03"}}, {Cron: ", * * * *"}, {Cron: "1/ * * * *"},
		},
		"every":    {{Every: "1"}, {Every: "30s"}, {Every: "0m"}, {Every: "400d"}, {Every: "m"}, {Every: "-5m"}, {Every: "1h 5m"}, {Every: "9999999m"}},
		"at":       {{At: "tomorrow"}, {At: "2026-12-24"}, {At: "9999-12-24T10:00"}},
		"anchor":   {{Cron: "0 9 * * *", Anchor: "2026-12-24T10:00"}, {Every: "1h", Anchor: "noon"}},
		"timezone": {{Cron: "0 9 * * *", Timezone: "Berlin"}, {Cron: "0 9 * * *", Timezone: "Local"}, {Cron: "0 9 * * *", Timezone: "../zone"}},
		"from":     {{Cron: "0 9 * * *", From: "soon"}},
		"until":    {{Cron: "0 9 * * *", Until: "2026"}, {Cron: "0 9 * * *", From: "2026-12-02", Until: "2026-12-01"}},
		"except":   {{Cron: "0 9 * * *", Except: []string{"x"}}, {Cron: "0 9 * * *", Except: []string{"2026-12-02/2026-12-01"}}, {Cron: "0 9 * * *", Except: make([]string, 101)}},
		"jitter_s": {{Cron: "0 9 * * *", Jitter: -1}, {Cron: "0 9 * * *", Jitter: 3601}},
	} {
		for _, spec := range list {
			_, problems := Parse(spec, "UTC")
			if len(problems) != 1 || problems[0].Field != field {
				t.Errorf("%+v has the problems %v, want one of %s", spec, problems, field)
			}
		}
	}
}

func TestSentence(t *testing.T) {
	t.Parallel()
	for want, spec := range map[string]Spec{
		"Weekdays at 9:00 AM, Berlin":                                     {Cron: "0 9 * * 1-5"},
		"Every 15 minutes":                                                {Cron: "*/15 * * * *"},
		"Every hour":                                                      {Cron: "@hourly"},
		"Every hour at minute 30":                                         {Cron: "30 * * * *"},
		"Every 6 hours":                                                   {Cron: "0 */6 * * *"},
		"Every day at 12:00 AM, Berlin":                                   {Cron: "@daily"},
		"Every day at 8:00 AM, New York":                                  {Cron: "0 8 * * *", Timezone: "America/New_York"},
		"Last day of the month at 6:00 PM, Berlin":                        {Cron: "0 18 L * *"},
		"Day 1 and 15 of the month at 6:00 AM, Berlin":                    {Cron: "0 6 1,15 * *"},
		"2nd Friday of the month at 7:00 AM, Berlin":                      {Cron: "0 7 * * 5#2"},
		"Last Friday of the month at 7:00 AM, Berlin":                     {Cron: "0 7 * * fril"},
		"Weekends at 10:00 AM and 4:00 PM, Berlin":                        {Cron: "0 10,16 * * sat,sun"},
		"Mondays and Thursdays at 10:00 AM, Berlin":                       {Cron: "0 10 * * mon,thu"},
		"Every year on December 31 at 11:59 PM, Berlin":                   {Cron: "59 23 31 12 *"},
		"Weekdays, every 15 minutes, Berlin":                              {Cron: "*/15 * * * 1-5"},
		"Cron 0 0 13 * 5, Berlin":                                         {Cron: "0 0 13 * 5"},
		"Cron */7 8-10 * * *, Berlin":                                     {Cron: "*/7 8-10 * * *"},
		"Every 65 minutes":                                                {Every: "65m"},
		"Every 90 minutes":                                                {Every: "1h30m"},
		"Every 2 days":                                                    {Every: "2d"},
		"Every day":                                                       {Every: "24h"},
		"Once on Dec 24, 2026 at 6:00 PM, Berlin":                         {At: "2026-12-24T18:00"},
		"Every day at 9:00 AM, Berlin, except 2026-12-24":                 {Cron: "0 9 * * *", Except: []string{"2026-12-24"}},
		"Every day at 9:00 AM, Berlin, until 2027-01-01":                  {Cron: "0 9 * * *", Until: "2027-01-01"},
		"Mondays in March and September at 9:00 AM, Berlin":               {Cron: "0 9 * 3,9 1"},
		"Every day at 9:00 AM, Berlin, from 2026-12-24, until 2027-01-01": {Cron: "0 9 * * *", From: "2026-12-24", Until: "2027-01-01"},
	} {
		if got := parse(t, spec).Sentence(); got != want {
			t.Errorf("%+v is %q, want %q", spec, got, want)
		}
	}
}

func TestChanges_lists_both_directions(t *testing.T) {
	t.Parallel()
	if n := len(Changes(parse(t, Spec{Cron: "@daily"}).Location(), at(t, "2028-01-01T00:00Z"), at(t, "2033-01-01T00:00Z"))); n != 10 {
		t.Errorf("five years have %d changes, want 10", n)
	}
	berlin := parse(t, Spec{Cron: "@daily"}).Location()
	got := Changes(berlin, at(t, "2027-01-01T00:00Z"), at(t, "2027-12-31T00:00Z"))
	want := []Change{{at(t, "2027-03-28T01:00Z"), 3600, 7200}, {at(t, "2027-10-31T01:00Z"), 7200, 3600}}
	if !slices.EqualFunc(got, want, func(a, b Change) bool { return a.At.Equal(b.At) && a.Before == b.Before && a.After == b.After }) {
		t.Errorf("changes are %v, want %v", got, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, expr := range expressions {
		f.Add(expr, "Europe/Berlin")
	}
	f.Add("5-5/9 * * * 0#5", "Africa/Casablanca")
	f.Fuzz(func(t *testing.T, expr, zone string) {
		s, problems := Parse(Spec{Cron: expr, Timezone: zone}, "UTC")
		if len(problems) > 0 {
			return
		}
		_ = s.Sentence()
		now := time.Date(2027, 3, 28, 0, 0, 0, 0, time.UTC)
		for range 20 {
			next := s.Next(now)
			if next.IsZero() {
				return
			}
			if !next.After(now) {
				t.Fatalf("%q in %s: after %s comes %s", expr, zone, now, next)
			}
			now = next
		}
	})
}
