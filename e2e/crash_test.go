package e2e

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestCrash kills the server repeatedly under load, at moments that the seed
// chooses, and checks that every accepted run ends exactly once with the right
// outputs.
func TestCrash(t *testing.T) {
	t.Parallel()
	from := loggedSeed(t)
	s := newServer(t)
	l := newLoad(t, from, s)
	random := rand.New(rand.NewPCG(from, 1<<32))
	l.begin()
	var slowest recovery
	for range *rounds {
		pause := 200 + random.IntN(1300)
		time.Sleep(time.Duration(pause) * time.Millisecond) // the random moment itself
		l.gate.close()
		slowest.worst(l.crash(s))
		l.gate.open()
	}
	l.end()
	l.check(waitTimeout)
	t.Logf("%d kills; ready at most %s after start, resumed at most %s after start", *rounds, slowest.ready, slowest.resumed)
}

// recovery is the time from a start of the server until it was ready, and until it
// resumed the runs that the crash had interrupted.
type recovery struct{ ready, resumed time.Duration }

func (r *recovery) worst(o recovery) {
	r.ready, r.resumed = max(r.ready, o.ready), max(r.resumed, o.resumed)
}

// crash kills the server, starts it again and returns once interrupted runs continue.
func (l *load) crash(s *server) recovery {
	s.kill()
	l.awaitSilence()
	cut, before := l.ledger.killed(), l.ledger.seen()
	s.start()
	p := s.process()
	c := s.client(l.any[0].key)
	waitUntil(l.t, "cut runs go on", func() bool { return l.ledger.seen() > before || l.allEnded(c, cut) })
	resumed := time.Since(p.startedAt)
	for i, key := range cut {
		if runID, _, _ := strings.Cut(key, ":"); i < 50 {
			l.lookAt(0, runID)
		}
	}
	return recovery{p.ready, resumed}
}

// awaitSilence waits until the ledger has received all calls that the dead server sent:
// none arrived during ten consecutive checks.
func (l *load) awaitSilence() {
	seen, looks := -1, 0
	waitUntil(l.t, "the ledger is silent", func() bool {
		if now := l.ledger.seen(); now != seen {
			seen, looks = now, 0
		}
		looks++
		return looks > 10
	})
}

func (l *load) allEnded(c *client, keys []string) bool {
	for _, key := range keys {
		runID, _, _ := strings.Cut(key, ":")
		a, err := c.try("GET", runPath(l.flows["call"], runID), nil)
		if err != nil {
			return false
		}
		if r, err := a.tryRun(); err != nil || !r.ended() {
			return false
		}
	}
	return true
}
