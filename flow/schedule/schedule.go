// Package schedule computes the planned times of a schedule: a crontab expression, an interval or a single moment, in a time
// zone with clock changes. It knows nothing of flows, stores and clocks: callers pass the time from which they ask.
package schedule

import (
	"slices"
	"strings"
	"sync"
	"time"

	_ "sluice/flow/timezones" // containers have none of their own
)

// Limits of a schedule.
const (
	MinEvery  = time.Minute
	MaxEvery  = 366 * 24 * time.Hour
	MaxJitter = 3600 // seconds
	MaxExcept = 100
	// horizon bounds the search for the next time. February 29 is at most 8 years away.
	horizon = 9 * 366 * 24 * time.Hour
)

// Spec is a schedule as people write it. Exactly one of Cron, Every and At is set. Dates and times without an offset are local
// in Timezone.
type Spec struct {
	Cron     string   `json:"cron,omitempty"`
	Every    string   `json:"every,omitempty"`    // "65m", "13h", "2d", "1h30m"
	Anchor   string   `json:"anchor,omitempty"`   // of the grid of Every; "" is 1970-01-01T00:00
	At       string   `json:"at,omitempty"`       // once
	Timezone string   `json:"timezone,omitempty"` // IANA name
	From     string   `json:"from,omitempty"`     // first date or time
	Until    string   `json:"until,omitempty"`    // last date or time
	Except   []string `json:"except,omitempty"`   // dates, or ranges of dates such as 2026-12-24/2027-01-01
	Jitter   int64    `json:"jitter_s,omitempty"`
}

// Problem is a mistake in a field of a Spec, named as in JSON.
type Problem struct{ Field, Detail string }

// Schedule is a parsed Spec. It is safe for concurrent use.
type Schedule struct {
	spec     Spec
	location *time.Location
	cron     *cron
	every    int64 // seconds
	anchor   int64 // Unix seconds
	at       time.Time
	from     time.Time // zero: no bound, like until
	until    time.Time // exclusive
	except   []span
}

// span is a range of moments; the end is exclusive.
type span struct{ start, end time.Time }

// Parse reads a schedule. timezone applies if the Spec names none. It reports all problems at once.
func Parse(spec Spec, timezone string) (*Schedule, []Problem) {
	p := parser{s: &Schedule{spec: spec, location: time.UTC}}
	p.zone(timezone)
	p.when()
	p.bounds()
	if spec.Jitter < 0 || spec.Jitter > MaxJitter {
		p.fail("jitter_s", "must be between 0 and 3600 seconds")
	}
	if len(p.problems) == 0 && p.s.at.IsZero() && p.s.Next(p.s.begin()).IsZero() {
		p.fail(p.kind(), "this time never comes: check days, months and the dates of from, until and except")
	}
	return p.s, p.problems
}

// begin returns a moment before the first time, to check that there is one.
func (s *Schedule) begin() time.Time {
	if s.from.IsZero() {
		return time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return s.from.Add(-time.Second)
}

// parser gathers the problems of a Spec.
type parser struct {
	s        *Schedule
	problems []Problem
}

// fail adds a problem.
func (p *parser) fail(field, detail string) {
	p.problems = append(p.problems, Problem{field, detail})
}

// kind names the field that says when the schedule runs.
func (p *parser) kind() string {
	switch {
	case p.s.spec.Every != "":
		return "every"
	case p.s.spec.At != "":
		return "at"
	}
	return "cron"
}

// zone reads the time zone.
func (p *parser) zone(fallback string) {
	if p.s.spec.Timezone == "" {
		p.s.spec.Timezone = fallback
	}
	location, err := Zone(p.s.spec.Timezone)
	if err != nil {
		p.fail("timezone", "must be the IANA name of a time zone, such as Europe/Berlin")
		return
	}
	p.s.location = location
}

// zones caches time zones by name. There are some hundred.
var zones sync.Map

// Zone returns a time zone by its IANA name. It never is the server's own.
func Zone(name string) (*time.Location, error) {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	if name == "" || strings.EqualFold(name, "local") {
		name = "unknown/" + name
	}
	zone, err := time.LoadLocation(name)
	if err == nil {
		zones.Store(name, zone)
	}
	return zone, err
}

// when reads the field that says when the schedule runs.
func (p *parser) when() {
	spec := &p.s.spec
	set := 0
	for _, v := range []string{spec.Cron, spec.Every, spec.At} {
		if v != "" {
			set++
		}
	}
	if set != 1 {
		p.fail("cron", "set exactly one of cron, every and at")
		return
	}
	if spec.Anchor != "" && spec.Every == "" {
		p.fail("anchor", "only goes with every")
	}
	var problem string
	switch p.kind() {
	case "every":
		p.interval()
		return
	case "at":
		if p.s.at, problem = p.s.moment(spec.At); problem == "" && len(spec.At) == len(time.DateOnly) {
			problem = "must have a time, such as 2026-12-24T18:00"
		}
	default:
		p.s.cron, problem = parseCron(spec.Cron)
	}
	if problem != "" {
		p.fail(p.kind(), problem)
	}
}

// interval reads Every and Anchor.
func (p *parser) interval() {
	d, problem := ParseInterval(p.s.spec.Every)
	if problem != "" {
		p.fail("every", problem)
	}
	p.s.every = int64(d / time.Second)
	anchor := p.s.spec.Anchor
	if anchor == "" {
		anchor = "1970-01-01T00:00"
	}
	at, problem := p.s.moment(anchor)
	if problem != "" {
		p.fail("anchor", problem)
	}
	p.s.anchor = at.Unix()
}

// bounds reads From, Until and Except.
func (p *parser) bounds() {
	spec, problem := &p.s.spec, ""
	if spec.From != "" {
		if p.s.from, problem = p.s.moment(spec.From); problem != "" {
			p.fail("from", problem)
		}
	}
	if spec.Until != "" {
		if p.s.until, problem = p.s.after(spec.Until); problem != "" {
			p.fail("until", problem)
		} else if !p.s.from.IsZero() && !p.s.from.Before(p.s.until) {
			p.fail("until", "must not be before from")
		}
	}
	if len(spec.Except) > MaxExcept {
		p.fail("except", "has more than 100 entries; join days to ranges")
		return
	}
	for _, text := range spec.Except {
		first, last, ranged := strings.Cut(text, "/")
		if !ranged {
			last = first
		}
		start, problem := p.s.moment(first)
		end, other := p.s.after(last)
		if problem != "" || other != "" || len(first) != len(time.DateOnly) || len(last) != len(time.DateOnly) || !start.Before(end) {
			p.fail("except", "must be dates such as 2026-12-24, or ranges such as 2026-12-24/2027-01-01")
			return
		}
		p.s.except = append(p.s.except, span{start, end})
	}
}

// moment reads a date, a local time or a time with an offset. A local time that the clocks skip is the first moment after the
// gap; one that they repeat is the first.
func (s *Schedule) moment(text string) (time.Time, string) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), checkYear(t)
		}
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return local(t.Unix(), s.location), checkYear(t)
		}
	}
	return time.Time{}, "must be a local date or time such as 2026-12-24T18:00, or a time with an offset such as 2026-12-24T18:00+01:00"
}

// checkYear bounds the years that people can name.
func checkYear(t time.Time) string {
	if y := t.Year(); y < 1970 || y > 2200 {
		return "must be a year between 1970 and 2200"
	}
	return ""
}

// after returns the moment after a date or time that is included.
func (s *Schedule) after(text string) (time.Time, string) {
	t, problem := s.moment(text)
	if problem != "" {
		return t, problem
	}
	if d, err := time.Parse(time.DateOnly, text); err == nil {
		return local(d.AddDate(0, 0, 1).Unix(), s.location), ""
	}
	return t.Add(time.Second), ""
}

// local returns the moment at which clocks show the wall time, as Unix seconds in UTC.
func local(wall int64, location *time.Location) time.Time {
	w := time.Unix(wall, 0).UTC()
	t := time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), 0, location)
	start, end := bounds(t)
	for _, at := range []time.Time{start, end} { // time.Date does not say which of two moments it returns
		if at.IsZero() {
			continue
		}
		before, after := offset(at.Add(-time.Second)), offset(at)
		switch u := at.Unix(); {
		case wall >= u+before && wall < u+after: // in the gap
			return at.UTC()
		case wall >= u+after && wall < u+before: // repeated
			return time.Unix(wall-before, 0).UTC()
		}
	}
	return t.UTC()
}

// offset returns the offset of a moment from UTC in seconds.
func offset(t time.Time) int64 {
	_, seconds := t.Zone()
	return int64(seconds)
}

// bounds returns the start and the end of a period of equal offset around t. A zero time means that it has none. The period
// before or after it may have the same offset.
func bounds(t time.Time) (start, end time.Time) {
	start, end = t.ZoneBounds()
	if !end.IsZero() && !end.After(t) { // on the last day of leap years, Go returns the beginning of that day
		end = t.Add(24 * time.Hour)
	}
	return start, end
}

// Location returns the time zone.
func (s *Schedule) Location() *time.Location { return s.location }

// Timezone returns the name of the time zone.
func (s *Schedule) Timezone() string { return s.spec.Timezone }

// Next returns the first planned time after t in UTC, or the zero time if none comes.
func (s *Schedule) Next(t time.Time) time.Time {
	if !s.from.IsZero() && t.Before(s.from) {
		t = s.from.Add(-time.Second)
	}
	for limit := t.Add(horizon + s.exceptTotal()); t.Before(limit); {
		next := s.planned(t)
		if next.IsZero() || !s.until.IsZero() && !next.Before(s.until) {
			return time.Time{}
		}
		i := slices.IndexFunc(s.except, func(e span) bool { return !next.Before(e.start) && next.Before(e.end) })
		if i < 0 {
			return next
		}
		t = s.except[i].end.Add(-time.Second)
	}
	return time.Time{}
}

// exceptTotal returns how long all exceptions are together.
func (s *Schedule) exceptTotal() (d time.Duration) {
	for _, e := range s.except {
		d += e.end.Sub(e.start)
	}
	return d
}

// NextN returns the first n planned times after t, or fewer if fewer come.
func (s *Schedule) NextN(t time.Time, n int) (list []time.Time) {
	for range n {
		if t = s.Next(t); t.IsZero() {
			break
		}
		list = append(list, t)
	}
	return list
}

// planned returns the first time after t, without regard to From, Until and Except.
func (s *Schedule) planned(t time.Time) time.Time {
	switch {
	case s.cron != nil:
		return s.cron.next(t, s.location)
	case s.every > 0:
		n := t.Unix() - s.anchor
		steps := n / s.every
		if n < 0 && n%s.every != 0 {
			steps--
		}
		return time.Unix(s.anchor+(steps+1)*s.every, 0).UTC()
	case s.at.After(t):
		return s.at
	}
	return time.Time{}
}

// Change is a change of clocks: the offset from UTC in seconds before and after it.
type Change struct {
	At            time.Time
	Before, After int64
}

// Changes returns the clock changes of a zone after from and up to until.
func Changes(location *time.Location, from, until time.Time) (list []Change) {
	for at := from; ; {
		_, end := bounds(at.In(location))
		if end.IsZero() || end.After(until) {
			return list
		}
		if c := (Change{end.UTC(), offset(end.Add(-time.Second)), offset(end)}); c.Before != c.After {
			list = append(list, c)
		}
		at = end
	}
}
