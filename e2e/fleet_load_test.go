package e2e

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Limits that must hold whatever breaks, and the runs at once that they allow.
const (
	fewAtOnce    = 3 // of a flow
	narrowAtOnce = 4 // of a key
)

// newFleetLoad returns a load on several servers. In addition to newLoad it starts runs of
// a flow and with a key that have limits, and follows the events of some runs.
func newFleetLoad(f *fleet, callers int) *load {
	s := f.servers[0]
	l := newLoad(f.t, 1, f.servers...)
	l.number, l.follows, l.ledger.anyDoubt = callers, true, true
	l.kinds = []string{"call", "call", "pure", "pure", "hook", "few", "narrow"}
	limited := func(name string) []byte {
		return documentOf(name, []object{input("n"), post("a", l.ledger.URL+"/"+name), output("got")}, "n.value > a.n", "a.body > out_got.value")
	}
	l.flows["few"], l.flows["narrow"] = s.publish(limited("few")), s.publish(limited("narrow"))
	s.must("flow", "limits", l.flows["few"], "--max-running="+strconv.Itoa(fewAtOnce))
	l.keys["narrow"] = s.key("--concurrency", strconv.Itoa(narrowAtOnce))
	return l
}

// follow reads the events of a run to the end. When a stream breaks, it resumes at any
// server. Event numbers must grow over all streams.
func (l *load) follow(ctx context.Context, random *rand.Rand, r *run) {
	last := 0
	for deadline := time.Now().Add(2 * waitTimeout); time.Now().Before(deadline); {
		list := l.stream(ctx, l.pick(random), r, last)
		for _, e := range list {
			if e.id == 0 {
				continue // not stored, so not numbered
			}
			if e.id <= last {
				l.fault("event %d of %s came after event %d", e.id, r.ID, last)
			}
			last = e.id
		}
		if ctx.Err() != nil || len(list) > 0 && list[len(list)-1].ends() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	l.fault("the events of %s did not end for %s", r.ID, 2*waitTimeout)
}

// stream reads the events of one connection.
func (l *load) stream(ctx context.Context, i int, r *run, last int) []event {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	headers := []string{"Accept: text/event-stream"}
	if last > 0 {
		headers = append(headers, "Last-Event-ID: "+strconv.Itoa(last))
	}
	resp, err := l.any[i].open(ctx, "GET", r.path()+"/events", nil, headers...)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		l.saw(i, &response{resp.StatusCode, resp.Header, []byte("(to a reader of events)")})
		return nil
	}
	return readEvents(resp.Body, event.ends)
}

// ends reports whether the event is the last of its run.
func (e event) ends() bool {
	var r run
	return e.name == "run" && json.Unmarshal([]byte(e.data), &r) == nil && r.ended()
}

// latency returns the 95th percentile of the starts that were sent in a span of time to
// servers other than one, and their number.
func (l *load) latency(from, to time.Time, except int) (p95 time.Duration, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var took []time.Duration
	for _, s := range l.samples {
		if s.server != except && s.startedAt.After(from) && s.startedAt.Before(to) {
			took = append(took, s.took)
		}
	}
	if len(took) == 0 {
		return 0, 0
	}
	slices.Sort(took)
	return took[len(took)*95/100], len(took)
}
