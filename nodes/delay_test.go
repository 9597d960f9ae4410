package nodes

import (
	"context"
	"testing"
	"time"

	"sluice/flow"
)

func TestDelay(t *testing.T) {
	t.Parallel()
	kind := New(Deps{}).Find("delay")
	begin := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	run := func(t *testing.T, config map[string]any, state any, now time.Time) (flow.Out, error) {
		t.Helper()
		if config["zone"] == nil {
			config["zone"] = "UTC"
		}
		return kind.Run(context.Background(), &flow.In{Config: config, Ports: map[string]any{"value": "x"}, State: state, Clock: func() time.Time { return now }})
	}
	t.Run("waits until it is due, even after a restart", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			config map[string]any
			want   string
		}{
			{map[string]any{"wait": delayFor, "duration": "90"}, "2026-03-28T12:01:30Z"},
			{map[string]any{"duration": "1.5h"}, "2026-03-28T13:30:00Z"},
			{map[string]any{"wait": delayFor, "duration": " 1d 12H 5m 1s "}, "2026-03-30T00:05:01Z"},
			{map[string]any{"wait": delayFor, "duration": "2w"}, "2026-04-11T12:00:00Z"},
			{map[string]any{"wait": delayUntil, "until": "2026-03-28T18:00:00+01:00"}, "2026-03-28T17:00:00Z"},
			{map[string]any{"wait": delayDaily, "time": "09:00"}, "2026-03-29T09:00:00Z"},
			{map[string]any{"wait": delayDaily, "time": "12:00"}, "2026-03-29T12:00:00Z"}, // now is not the next one
		} {
			out, err := run(t, c.config, nil, begin)
			if err != nil || out.Suspend == nil || out.Suspend.Until.UTC().Format(time.RFC3339) != c.want {
				t.Errorf("%v: got %+v, %v, want %s", c.config, out.Suspend, err, c.want)
				continue
			}
			again, err := run(t, c.config, out.Suspend.State, begin.Add(time.Second))
			if err != nil || again.Suspend == nil || !again.Suspend.Until.Equal(out.Suspend.Until) {
				t.Errorf("%v, again: got %+v, %v", c.config, again, err)
			}
			end, err := run(t, c.config, out.Suspend.State, out.Suspend.Until)
			if err != nil || end.Suspend != nil || end.Outputs["value"] != "x" {
				t.Errorf("%v, when due: got %+v, %v", c.config, end, err)
			}
		}
	})
	t.Run("does not wait for a time in the past", func(t *testing.T) {
		t.Parallel()
		for _, config := range []map[string]any{{"duration": "0"}, {"wait": delayUntil, "until": "2020-01-01T00:00:00Z"}} {
			if out, err := run(t, config, nil, begin); err != nil || out.Outputs["value"] != "x" {
				t.Errorf("%v: got %+v, %v", config, out, err)
			}
		}
	})
	t.Run("rejects invalid values", func(t *testing.T) {
		t.Parallel()
		for want, config := range map[string]map[string]any{
			"Duration must be":    {"duration": "soon"},
			"at most 366 days":    {"duration": "9999d"},
			"1d 12h":              {"duration": "1h 5"},
			"Time must have":      {"wait": delayUntil, "until": "tomorrow"},
			"The limit is 366":    {"wait": delayUntil, "until": "2126-01-01T00:00:00Z"},
			"Time of day must be": {"wait": delayDaily, "time": "25:00"},
			"Time zone must be":   {"wait": delayDaily, "time": "09:00", "zone": "Mars/Olympus"},
		} {
			_, err := run(t, config, nil, begin)
			if err == nil {
				t.Errorf("%v: got no error", config)
				continue
			}
			has(t, err.Error(), want)
		}
		for _, config := range []map[string]any{{"wait": delayFor, "duration": "soon"}, {"wait": delayDaily, "time": "9 am"}, {"wait": delayDaily, "time": "09:00", "zone": "Nowhere"}} {
			if problems := (use{kind: "delay", config: config, ports: map[string]any{"value": "x"}}).problems(t); len(problems) != 1 {
				t.Errorf("%v: got %v", config, problems)
			}
		}
	})
}

// TestClockTime compares clockTime with the clock, minute by minute, on all days of two years
// in time zones with unusual changes: of half an hour, at midnight, for Ramadan, across the
// date line.
func TestClockTime(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"UTC", "Europe/Zurich", "America/New_York", "Australia/Lord_Howe", "Pacific/Chatham", "Africa/Casablanca", "Africa/Cairo",
		"America/Santiago", "Asia/Beirut", "Asia/Gaza", "Antarctica/Troll", "America/Havana", "Atlantic/Azores", "America/Nuuk", "Pacific/Norfolk", "Asia/Kathmandu"} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			in, err := time.LoadLocation(zone)
			if err != nil {
				t.Fatal(err)
			}
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for _, end := at.In(in).ZoneBounds(); !end.IsZero() && end.Year() < 2028; _, end = end.ZoneBounds() {
				year, month, day := end.Add(-time.Hour).Date()
				for minute := range 2 * 24 * 60 {
					hour := minute / 60
					want := shownFirst(year, month, day+hour/24, hour%24, minute%60, in)
					if got := clockTime(year, month, day+hour/24, hour%24, minute%60, in); !got.Equal(want) {
						t.Fatalf("%d-%d-%d %d:%02d: got %s, want %s", year, month, day+hour/24, hour%24, minute%60, got, want)
					}
				}
			}
			if next, failed := nextTimeOfDay("00:00", zone, at); failed != nil || !next.After(at) || next.Sub(at) > 25*time.Hour {
				t.Errorf("the next midnight is %s, %v", next, failed)
			}
		})
	}
}

// shownFirst searches the first minute at which clocks show a time of a day or a later one.
func shownFirst(year int, month time.Month, day, hour, minute int, in *time.Location) time.Time {
	wall := time.Date(year, month, day, hour, minute, 0, 0, time.UTC).Unix()
	from := wall - 15*3600
	low, high := int64(0), int64(30*60) // minutes; what clocks show grows except in the hours around a change
	for high-low > 400 {
		if middle := (low + high) / 2; shown(from+middle*60, in) < wall-4*3600 {
			low = middle
		} else {
			high = middle
		}
	}
	for m := low; ; m++ {
		if shown(from+m*60, in) >= wall {
			return time.Unix(from+m*60, 0)
		}
	}
}

// shown returns the local time at a moment, in seconds as if it were UTC.
func shown(unix int64, in *time.Location) int64 {
	_, offset := time.Unix(unix, 0).In(in).Zone()
	return unix + int64(offset)
}
