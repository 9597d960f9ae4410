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
		ago     time.Duration // since the last look
		want    bool
	}{
		{name: "nothing new", changes: 1},
		{name: "something was written", changes: 2, want: true},
		{name: "work is due later", changes: 1, next: now.Add(time.Millisecond)},
		{name: "work is due now", changes: 1, next: now, want: true},
		{name: "work was due while the clock was set", changes: 1, next: now.Add(-time.Hour), want: true},
		{name: "the last look failed", changes: 1, err: errors.New("full"), want: true},
		{name: "something was written, but too soon", changes: 2, every: time.Hour},
		{name: "the last look is long ago", changes: 1, ago: idlePollInterval, want: true},
	} {
		b := &poller{minInterval: c.every}
		if !b.due(1, now) {
			t.Errorf("%s: the first look is not due", c.name)
		}
		b.finish(c.next, c.err)
		b.lastPoll = b.lastPoll.Add(-c.ago)
		if got := b.due(c.changes, now); got != c.want {
			t.Errorf("%s: due is %t", c.name, got)
		}
	}
}
