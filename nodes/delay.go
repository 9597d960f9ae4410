package nodes

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	_ "sluice/flow/timezones" // containers have none of their own
)

// Options of the field "wait".
const (
	delayFor   = "for a duration"
	delayUntil = "until a time"
	delayDaily = "until a time of day"
)

// maxDelay bounds a delay. A longer one is a mistake, such as a duration in milliseconds.
const maxDelay = 366 * 24 * time.Hour

// The delay kind passes a value on after a wait. The step saves its due time and suspends
// itself, so a waiting run costs two database rows and no worker, and survives restarts.
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "delay", Title: "Delay", Group: groupControl, Icon: "timer", WaitsFor: flow.WaitsForDelay,
		Summary: "Waits, then passes its value on.",
		Doc: "Waits for a duration (`90s`, `15m`, `1d 12h`), until a time (`2026-12-24T18:00:00+01:00`), or until the next time of day in a time " +
			"zone (`09:00` in `Europe/Zurich`), then passes `value` on. A time in the past does not delay it.\n\n" +
			"A waiting run occupies no worker and survives restarts; the wait does not count toward the run's time limit. The maximum is 366 days.\n\n" +
			"On the day on which clocks are set forward, a time of day that does not exist is replaced by the moment of the change. On " +
			"the day on which they are set back, the first of the two counts.",
		Fields: []flow.Field{
			{Name: "wait", Title: "Wait", Type: flow.FieldSelect, Typed: true, Default: delayFor, Options: []string{delayFor, delayUntil, delayDaily},
				Help: "What to wait for."},
		},
		DynamicSchema: delaySchema,
		Inputs:        []flow.Port{{Name: "value", Title: "Value", Type: flow.TypeAny, Required: true, Help: "The value that is passed on."}},
		Outputs:       []flow.Port{{Name: "value", Title: "Value", Type: flow.TypeAny, Passes: "value", Help: "The same value, after the wait."}},
		Example: flow.Example{
			Config:  map[string]any{"wait": delayUntil, "until": "2026-01-05T09:00:00Z"},
			Ports:   map[string]any{"value": "Good morning"},
			Outputs: map[string]any{"value": "Good morning"},
		},
		Check: checkDelay,
		Run:   delay,
	}
})

// delaySchema declares the fields for the chosen option of "wait".
func delaySchema(n *flow.Node) flow.DynamicSchema {
	switch n.Config["wait"] {
	case delayUntil:
		return flow.DynamicSchema{Fields: []flow.Field{
			{Name: "until", Title: "Time", Type: flow.FieldText, Required: true, Help: "Such as 2026-12-24T18:00:00+01:00."}}}
	case delayDaily:
		return flow.DynamicSchema{Fields: []flow.Field{
			{Name: "time", Title: "Time of day", Type: flow.FieldText, Required: true, Help: "Such as 09:00."},
			{Name: "zone", Title: "Time zone", Type: flow.FieldText, Default: "UTC", Help: "Such as Europe/Zurich."}}}
	}
	return flow.DynamicSchema{Fields: []flow.Field{
		{Name: "duration", Title: "Duration", Type: flow.FieldText, Required: true, Help: "Such as 90s, 15m, 2h or 1d 12h."}}}
}

// checkDelay reports typed values that are invalid.
func checkDelay(n *flow.Node) []flow.Problem {
	config := map[string]any{"zone": "UTC"}
	for name, value := range n.Config {
		if s, isText := value.(string); isText && s != "" {
			config[name] = s
		}
	}
	field := "duration"
	switch n.Config["wait"] {
	case delayUntil:
		field = "until"
	case delayDaily:
		field = "time"
	}
	if config[field] == nil { // from an edge, or missing, which is reported elsewhere
		return nil
	}
	if _, err := delayEnd(config, time.Unix(0, 0)); err != nil {
		if strings.HasPrefix(err.Message, "Time zone") {
			field = "zone"
		}
		return []flow.Problem{{Pointer: flow.Pointer(field), Code: "invalid", Detail: err.Message}}
	}
	return nil
}

// delay suspends the step until its due time. The due time is saved once, so that a run that
// is woken early or moves to another server does not start the wait over.
func delay(_ context.Context, in *flow.In) (flow.Out, error) {
	now := in.Now()
	until, saved := delayState(in.State)
	if !saved {
		var err *flow.Error
		if until, err = delayEnd(in.Config, now); err != nil {
			return flow.Out{}, err
		}
		if until.Sub(now) > maxDelay {
			return flow.Out{}, flow.Errorf(flow.CodeInputInvalid, "The delay would end at %s. The limit is %d days.", until.Format(time.RFC3339), maxDelay/(24*time.Hour))
		}
	}
	if until.After(now) {
		return flow.Out{Suspend: &flow.Suspension{Until: until, State: until.UTC().Format(time.RFC3339Nano)}}, nil
	}
	return flow.Out{Outputs: map[string]any{"value": in.Ports["value"]}}, nil
}

// delayState reads the due time from the state of a suspended step.
func delayState(state any) (time.Time, bool) {
	s, _ := state.(string)
	until, err := time.Parse(time.RFC3339Nano, s)
	return until, err == nil
}

// delayEnd returns the end of a delay that begins now.
func delayEnd(config map[string]any, now time.Time) (time.Time, *flow.Error) {
	switch config["wait"] {
	case delayUntil:
		text := strings.TrimSpace(flow.Text(config["until"]))
		until, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return time.Time{}, flow.Errorf(flow.CodeInputInvalid, "Time must have a date, a time and an offset, such as 2026-12-24T18:00:00+01:00. Got %q.", text)
		}
		return until, nil
	case delayDaily:
		return nextTimeOfDay(flow.Text(config["time"]), flow.Text(config["zone"]), now)
	}
	d, err := parseDelay(flow.Text(config["duration"]))
	if err != nil {
		return time.Time{}, flow.Errorf(flow.CodeInputInvalid, "Duration must be a number of seconds or be written as 90s, 15m, 2h or 1d 12h, at most 366 days. Got %q.", flow.Text(config["duration"]))
	}
	return now.Add(d), nil
}

var (
	// delayParts matches the first part of a duration such as "1h 30m". A number
	// without a unit is seconds.
	delayParts = regexp.MustCompile(`^(\d+(?:\.\d+)?)\s*(s|m|h|d|w)?\s*`)
	delayUnits = map[string]time.Duration{"": time.Second, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}
)

// parseDelay parses a duration such as 1d 12h. A day is 24 hours, regardless of daylight
// saving time.
func parseDelay(text string) (time.Duration, error) {
	total, rest := 0.0, strings.ToLower(strings.TrimSpace(text))
	for first := true; first || rest != ""; first = false {
		part := delayParts.FindStringSubmatch(rest)
		if part == nil || part[2] == "" && (!first || part[0] != rest) { // a number without a unit must be the only part
			return 0, fmt.Errorf("not a duration: %q", text)
		}
		n, err := strconv.ParseFloat(part[1], 64)
		if err != nil {
			return 0, err
		}
		if total += n * float64(delayUnits[part[2]]); total > float64(maxDelay) {
			return 0, fmt.Errorf("longer than %s", maxDelay)
		}
		rest = rest[len(part[0]):]
	}
	return time.Duration(total), nil
}

// nextTimeOfDay returns the first moment after now at which clocks in a time zone show a
// time such as 09:00. On a day that skips that time, it is the moment of the change.
func nextTimeOfDay(text, zone string, now time.Time) (time.Time, *flow.Error) {
	clock, err := time.Parse("15:04", strings.TrimSpace(text))
	if err != nil {
		return time.Time{}, flow.Errorf(flow.CodeInputInvalid, "Time of day must be hours and minutes, such as 09:00. Got %q.", text)
	}
	loc, err := time.LoadLocation(strings.TrimSpace(zone))
	if err != nil || strings.EqualFold(strings.TrimSpace(zone), "local") {
		return time.Time{}, flow.Errorf(flow.CodeInputInvalid, "Time zone must be a name such as Europe/Zurich or UTC. Got %q.", zone)
	}
	year, month, day := now.In(loc).Date()
	for offset := -1; ; offset++ { // a change of clocks at midnight can belong to the day before
		if at := clockTime(year, month, day+offset, clock.Hour(), clock.Minute(), loc); at.After(now) {
			return at, nil
		}
	}
}

// clockTime returns the moment at which clocks show a time on a day: the change of clocks if
// it skips that time, and the first of two if it repeats it. time.Date leaves both cases
// unspecified.
func clockTime(year int, month time.Month, day, hour, minute int, loc *time.Location) time.Time {
	at := time.Date(year, month, day, hour, minute, 0, 0, loc)
	start, end := at.ZoneBounds()
	wall := time.Date(year, month, day, hour, minute, 0, 0, time.UTC).Unix()
	if _, offset := at.Zone(); wall-int64(offset) != at.Unix() { // skipped
		if shown := at.Unix() + int64(offset); shown > wall {
			return start
		}
		return end
	}
	if !start.IsZero() { // may be the second of two
		_, before := start.Add(-time.Second).Zone()
		if first := time.Unix(wall-int64(before), 0); first.Before(start) {
			return first.In(loc)
		}
	}
	return at
}

// isDelay reports whether a text is a time to wait.
func isDelay(text string) bool {
	d, err := parseDelay(text)
	return err == nil && d > 0
}
