package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/e2e/need"
)

// oracle computes the times of an expression minute by minute: it looks at what clocks show in each minute of some years, and
// knows nothing of periods and offsets.
type oracle struct {
	first int64  // Unix minute
	faces []face // of each minute from the first on
}

// face is what clocks and calendars show in a minute.
type face struct {
	wall                                    int64 // minutes since 1970 that clocks show
	minute, hour, day, month, weekday, week uint8 // week 2: the second such weekday of the month
	lastDay                                 bool
}

func newFace(w time.Time) face {
	return face{w.Unix() / 60, uint8(w.Minute()), uint8(w.Hour()), uint8(w.Day()), uint8(w.Month()), uint8(w.Weekday()), uint8(w.Day()+6) / 7, w.AddDate(0, 0, 1).Day() == 1}
}

func newOracle(location *time.Location, from, until time.Time) *oracle {
	o := &oracle{first: from.Unix() / 60}
	for t := from; t.Before(until); t = t.Add(time.Minute) {
		l := t.In(location)
		o.faces = append(o.faces, newFace(time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)))
	}
	return o
}

// expression holds for each value of each field whether an expression has it.
type expression struct {
	fields   [5][61]bool
	nth      [7][6]bool
	allHours bool
	lastDay  bool
	either   bool
}

func read(text string) *expression {
	f := strings.Fields(text)
	e := &expression{allHours: strings.ContainsAny(f[1], "*/"), lastDay: strings.Contains(f[2], "L"), either: f[2][0] != '*' && f[4][0] != '*'}
	for i, highest := range []int{59, 23, 31, 12, 7} {
		for n := range highest + 1 {
			e.fields[i][n] = matches(f[i], n, highest)
		}
	}
	e.fields[4][0] = e.fields[4][0] || e.fields[4][7]
	for item := range strings.SplitSeq(f[4], ",") {
		if day, n, ok := strings.Cut(item, "#"); ok {
			e.nth[day[0]-'0'][n[0]-'0'] = true
		}
	}
	return e
}

// shown reports whether the expression matches what clocks show.
func (e *expression) shown(f *face) bool {
	if !e.fields[0][f.minute] || !e.fields[1][f.hour] || !e.fields[3][f.month] {
		return false
	}
	inMonth := e.fields[2][f.day] || e.lastDay && f.lastDay
	inWeek := e.fields[4][f.weekday] || e.nth[f.weekday][f.week]
	if e.either {
		return inMonth || inWeek
	}
	return inMonth && inWeek
}

// times returns the Unix minutes at which an expression is due.
func (o *oracle) times(text string) (list []int64) {
	e := read(text)
	late := map[int64]bool{} // minutes that stand for skipped ones
	newest := int64(0)
	for i := range o.faces {
		f, at := &o.faces[i], o.first+int64(i)
		due := len(late) > 0 && late[at]
		for skipped := int64(0); i > 0 && o.faces[i-1].wall+1+skipped < f.wall; skipped++ {
			gone := newFace(time.Unix((o.faces[i-1].wall+1+skipped)*60, 0).UTC())
			if e.shown(&gone) && e.allHours && skipped > 0 {
				late[at+skipped] = true
			} else if e.shown(&gone) {
				due = true
			}
		}
		due = due || e.shown(f) && (e.allHours || f.wall > newest)
		newest = max(newest, f.wall)
		if due {
			list = append(list, at)
		}
	}
	return list
}

// matches reports whether a field of numbers contains n.
func matches(field string, n, highest int) bool {
	for item := range strings.SplitSeq(field, ",") {
		var a, b, step int
		switch {
		case item == "*":
			return true
		case scan(item, "*/%d", &step):
			if first := map[int]int{31: 1, 12: 1}[highest]; (n-first)%step == 0 {
				return true
			}
		case scan(item, "%d-%d/%d", &a, &b, &step):
			if n >= a && n <= b && (n-a)%step == 0 {
				return true
			}
		case scan(item, "%d-%d", &a, &b):
			if n >= a && n <= b {
				return true
			}
		case scan(item, "%d", &a):
			if n == a {
				return true
			}
		}
	}
	return false
}

// scan reports whether text has exactly the format.
func scan(text, format string, values ...any) bool {
	n, err := fmt.Sscanf(text, format, values...)
	if err != nil || n != len(values) {
		return false
	}
	back := make([]any, len(values))
	for i, v := range values {
		back[i] = *v.(*int)
	}
	return fmt.Sprintf(format, back...) == text
}

// expressions stress hours around the clock changes, days and intervals.
var expressions = []string{
	"30 2 * * *", "0 2 * * *", "15,45 1,2,3 * * *", "*/10 2 * * *", "0 3 * * *", "0 9 * * 1-5",
	"0 * * * *", "*/15 * * * *", "30 */2 * * *", "0 */6 * * *", "5 1-5/2 * * *", "0 0 13 * 5", "0 18 L * *", "0 7 * * 5#2",
	"30 1 1-7 * 0", "0 2 */2 * 0,7", "59 23 31 12 *", "0 0 29 2 *",
}

func TestCron_equals_an_oracle_minute_by_minute(t *testing.T) {
	t.Parallel()
	need.Time(t)
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu"} {
		t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
			t.Parallel()
			location, err := Zone(name)
			if err != nil {
				t.Fatal(err)
			}
			from, until := time.Date(2025, 12, 31, 23, 0, 0, 0, time.UTC), time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
			o := newOracle(location, from, until)
			for _, expr := range expressions {
				s, problems := Parse(Spec{Cron: expr, Timezone: name}, "UTC")
				if len(problems) > 0 {
					t.Fatal(expr, problems)
				}
				want := o.times(expr)
				var got []int64
				for at := s.Next(from.Add(-time.Second)); at.Before(until) && !at.IsZero(); at = s.Next(at) {
					if at.Second() != 0 {
						t.Fatalf("%s: %s is not a whole minute", expr, at)
					}
					got = append(got, at.Unix()/60)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s in %s: %s", expr, name, firstDifference(got, want, location))
				}
			}
		})
	}
}

// firstDifference describes where two lists of minutes differ.
func firstDifference(got, want []int64, location *time.Location) string {
	at := func(list []int64, i int) string {
		if i >= len(list) {
			return "nothing"
		}
		return time.Unix(list[i]*60, 0).In(location).Format(time.RFC3339)
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	return fmt.Sprintf("%d and %d times; number %d is %s, want %s", len(got), len(want), i, at(got, i), at(want, i))
}
