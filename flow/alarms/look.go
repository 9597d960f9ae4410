package alarms

import (
	"fmt"
	"slices"
	"time"

	"sluice/flow"
	"sluice/flow/sorting"
)

// End is the end of a run.
type End struct {
	RunID      flow.RunID
	Failed     bool
	StartedAt  time.Time
	EndedAt    time.Time
	Cost       flow.NanoUSD
	InProgress bool // it has not ended
}

// settling is how long after its end a run may become visible, because its transaction commits later than the one of another run.
const settling = 10 * time.Second

// Counted returns the CountedTo of a look at a time.
func Counted(now time.Time) time.Time { return now.Add(-settling) }

// add names a run, unless enough of them are named.
func (f *Finding) add(runs ...flow.RunID) {
	for _, id := range runs {
		if len(f.Runs) < named && !slices.Contains(f.Runs, id) {
			f.Runs = append(f.Runs, id)
		}
	}
}

// FailedInRow looks for failures in a row in the ends of runs, the latest first. A row counts that has not ended, or that was complete after counted.
func (c *Config) FailedInRow(ends []End, counted time.Time) *Finding {
	n := c.count()
	var row []End // from the latest failure backwards
	tail := true
	for i := 0; i <= len(ends); i++ {
		if i < len(ends) && ends[i].Failed {
			row = append(row, ends[i])
			continue
		}
		// Of a row from old to new, the failure with the number n made it complete.
		if len(row) >= n && (tail || row[len(row)-n].EndedAt.After(counted)) {
			f := &Finding{Text: "A run failed."}
			switch {
			case n > 1 || tail && len(row) > 1:
				f.Text = fmt.Sprintf("%d runs in a row failed.", len(row))
			case len(row) > 1:
				f.Text = fmt.Sprintf("%d runs failed.", len(row))
			}
			for _, e := range row {
				f.add(e.RunID)
			}
			return f
		}
		row, tail = row[:0], false
	}
	return nil
}

// FailedShare looks at the share of failures.
func (c *Config) FailedShare(ends []End) *Finding {
	f := &Finding{}
	failed := 0
	for _, e := range ends {
		if e.Failed {
			failed++
			f.add(e.RunID)
		}
	}
	if len(ends) < c.least() || int64(failed)*100 < c.Percent*int64(len(ends)) {
		return nil
	}
	f.Text = fmt.Sprintf("%d of %d runs in %s failed.", failed, len(ends), Span(c.window()))
	return f
}

// SlowRuns looks at how long runs took.
func (c *Config) SlowRuns(ends []End) *Finding {
	if len(ends) < c.least() {
		return nil
	}
	list := slices.Clone(ends)
	sorting.By(list, func(a, b End) int { return int(b.took() - a.took()) })
	slowest := list[len(list)/20]
	if slowest.took() <= c.over() {
		return nil
	}
	f := &Finding{Text: fmt.Sprintf("Of %d runs in %s, 5 %% took longer than %s.", len(ends), Span(c.window()), slowest.took().Round(100*time.Millisecond))}
	for _, e := range list[:len(list)/20+1] {
		f.add(e.RunID)
	}
	return f
}

// took is how long a run took.
func (e *End) took() time.Duration { return e.EndedAt.Sub(e.StartedAt) }

// LongRuns looks at runs in progress.
func (c *Config) LongRuns(open []End) *Finding {
	if len(open) == 0 {
		return nil
	}
	f := &Finding{Text: "A run has been going on for longer than " + Span(c.over()) + "."}
	if len(open) > 1 {
		f.Text = fmt.Sprintf("%d runs have been going on for longer than %s.", len(open), Span(c.over()))
	}
	for _, e := range open {
		f.add(e.RunID)
	}
	return f
}

// CostOfRuns looks at what runs cost that ended after counted or are in progress.
func (c *Config) CostOfRuns(ends []End, counted time.Time) *Finding {
	f, n := &Finding{}, 0
	for _, e := range ends {
		if e.Cost >= flow.USDOf(c.USD) && (e.InProgress || e.EndedAt.After(counted)) {
			n++
			f.add(e.RunID)
			f.Text = "A run cost $" + e.Cost.Rounded() + "."
		}
	}
	if n == 0 {
		return nil
	}
	if n > 1 {
		f.Text = fmt.Sprintf("%d runs cost at least $%s each.", n, flow.USDOf(c.USD).Rounded())
	}
	return f
}

// CostOfDay looks at what this day has cost, and what the seven days before it have.
func (c *Config) CostOfDay(today, before flow.NanoUSD) *Finding {
	if c.Factor == 0 {
		if today < flow.USDOf(c.USD) {
			return nil
		}
		return &Finding{Text: "This day (UTC) has cost $" + today.Rounded() + "."}
	}
	mean := before / 7
	if mean == 0 || float64(today) <= c.Factor*float64(mean) {
		return nil
	}
	return &Finding{Text: fmt.Sprintf("This day (UTC) has cost $%s; the mean of the last 7 days is $%s.", today.Rounded(), mean.Rounded())}
}

// Quiet looks at when a run last succeeded, which is zero if none has since from.
func (c *Config) Quiet(last, from, now time.Time) *Finding {
	text := "The last run succeeded at " + last.UTC().Format("2006-01-02 15:04") + " UTC."
	if last.Before(from) {
		last, text = from, "No run has succeeded since "+from.UTC().Format("2006-01-02 15:04")+" UTC."
	}
	if now.Sub(last) < c.over() {
		return nil
	}
	return &Finding{Text: text}
}

// Trouble is an event of a trigger that started nothing although it should have.
type Trouble struct {
	Trigger string // name
	State   string
	Code    string
}

// Troubles looks at the events of triggers.
func (c *Config) Troubles(list []Trouble) *Finding {
	if len(list) < c.count() {
		return nil
	}
	var names []string
	for _, t := range list {
		if text := t.Trigger + " (" + t.State + ": " + t.Code + ")"; !slices.Contains(names, text) && len(names) < 5 {
			names = append(names, text)
		}
	}
	return &Finding{Text: fmt.Sprintf("Triggers started nothing %d times in %s: %s.", len(list), Span(c.window()), joined(names))}
}

// TestEnd is the latest test that a schedule started and that ended.
type TestEnd struct {
	Trigger string // name
	Test    string // ID
	RunID   flow.RunID
	State   string // failed, errored or stale
	Summary string
}

// testStates says how tests ended.
var testStates = map[string]string{"failed": "failed", "errored": "ended with errors", "stale": "is stale"}

// FailedTests looks at tests that did not pass.
func (c *Config) FailedTests(list []TestEnd) *Finding {
	if len(list) == 0 {
		return nil
	}
	f := &Finding{}
	for _, t := range list {
		if len(f.Text) < 1000 {
			f.Text += fmt.Sprintf(" The test %s of the schedule %s %s: %s", t.Test, t.Trigger, testStates[t.State], t.Summary)
		}
		f.add(t.RunID)
	}
	f.Text = f.Text[1:]
	return f
}

// Receivers looks at receivers of webhooks that fail, by host.
func (c *Config) Receivers(hosts []string) *Finding {
	if len(hosts) == 0 {
		return nil
	}
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	return &Finding{Text: fmt.Sprintf("Webhooks to %s have failed for at least %s.", joined(hosts[:min(len(hosts), 5)]), Span(c.over()))}
}

// Questions looks at questions that wait for people.
func (c *Config) Questions(runs []flow.RunID) *Finding {
	if len(runs) == 0 {
		return nil
	}
	f := &Finding{Text: "A question has been open for longer than " + Span(c.over()) + "."}
	if len(runs) > 1 {
		f.Text = fmt.Sprintf("%d questions have been open for longer than %s.", len(runs), Span(c.over()))
	}
	f.add(runs...)
	return f
}

// joined lists texts.
func joined(list []string) string {
	text := ""
	for i, s := range list {
		if i > 0 {
			text += ", "
		}
		text += s
	}
	return text
}

// Merge adds what was found of another flow.
func (f *Finding) Merge(slug string, other *Finding) *Finding {
	if other == nil {
		return f
	}
	text := slug + ": " + other.Text
	if f == nil {
		return &Finding{Text: text, Runs: other.Runs}
	}
	if len(f.Text) < 1000 {
		f.Text += " " + text
	}
	f.add(other.Runs...)
	return f
}

// Since returns how far an alarm looks back for ends of runs.
func (a *Alarm) Since(now time.Time) time.Time {
	if from := now.Add(-a.Config.window()); a.Config.Kind != Cost && (a.Config.Kind != Failed || a.Config.Percent != 0) && from.After(a.WatchedFrom) {
		return from
	}
	return a.WatchedFrom
}

// Before returns the time before which something must have begun, so that it has gone on for too long.
func (a *Alarm) Before(now time.Time) time.Time { return now.Add(-a.Config.over()) }
