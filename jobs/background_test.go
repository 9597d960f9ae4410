package jobs

import (
	"errors"
	"testing"
	"time"
)

func TestPoller_due(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	for _, c := range []struct {
		name    string
		changes int64
		next    time.Time
		err     error
		every   time.Duration
		ago     time.Duration // since the last poll
		want    bool
	}{
		{name: "no change", changes: 1},
		{name: "change", changes: 2, want: true},
		{name: "work is due later", changes: 1, next: now.Add(time.Millisecond)},
		{name: "work is due now", changes: 1, next: now, want: true},
		{name: "work was due before the clock was set", changes: 1, next: now.Add(-time.Hour), want: true},
		{name: "last poll failed", changes: 1, err: errors.New("full"), want: true},
		{name: "change too soon after the last poll", changes: 2, every: time.Hour},
		{name: "last poll long ago", changes: 1, ago: idlePollInterval, want: true},
	} {
		p := &poller{minInterval: c.every}
		if !p.due(1, now) {
			t.Errorf("%s: the first poll is not due", c.name)
		}
		p.finish(c.next, c.err)
		p.lastPoll = p.lastPoll.Add(-c.ago)
		if got := p.due(c.changes, now); got != c.want {
			t.Errorf("%s: due is %t", c.name, got)
		}
	}
}
