package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const crashCallers = 32

// load is many concurrent callers that start runs of several flows, each start under its
// own idempotency key, and retry while the server is down.
type load struct {
	t       testing.TB
	seed    uint64
	any     []*client // clients of all servers
	number  int       // number of callers
	kinds   []string  // what callers start, at random
	follows bool      // callers read the event streams of some of their runs
	ledger  *ledger
	inbox   *inbox
	flows   map[string]string // what is run, by the kind of load
	gate    gate

	mu       sync.Mutex
	shunned  int               // index of a server that gets no new requests; -1 for none
	statuses map[int]int       // responses by status code
	samples  []sample          // starts whose response had the ended run
	keys     map[string]string // API key by kind of load, if the kind has its own
	accepted map[string]string // run ID by request
	recent   []*run            // some recently accepted runs that call the ledger
	faults   []string
	stuck    []run       // runs that were open when check gave up waiting
	over     atomic.Bool // the test has ended, so callers ignore responses
	callers  sync.WaitGroup
	stop     context.CancelFunc
}

func newLoad(t testing.TB, seed uint64, servers ...*server) *load {
	l := &load{
		t: t, seed: seed, number: crashCallers, kinds: []string{"call", "call", "pure", "hook"}, ledger: newLedger(t), inbox: newInbox(t),
		flows: map[string]string{}, shunned: -1, statuses: map[int]int{}, keys: map[string]string{}, accepted: map[string]string{},
	}
	s := servers[0]
	l.flows["call"] = s.publish(documentOf("Two calls", []object{
		input("n"), post("a", l.ledger.URL),
		node("b", "http_request", object{"method": "POST", "url": l.ledger.URL, "body": object{"n": "{{n}}"}}), output("got"),
	}, "n.value > a.n", "a.body > b.n", "b.body > out_got.value"))
	l.flows["pure"] = s.publish(documentOf("Pure", []object{input("n"), node("say", "template", object{"template": "said {{n}}"}), output("got")},
		"n.value > say.n", "say.text > out_got.value"))
	l.flows["hook"] = s.publish(documentOf("Hook", []object{
		input("n"), output("got"), node("hook", "webhook", object{"url": l.inbox.URL + "/node/{{n}}"}),
	}, "n.value > out_got.value", "n.value > hook.n"))
	key := s.key()
	for _, s := range servers {
		l.any = append(l.any, s.client(key))
	}
	return l
}

// begin starts the callers and the observers of steps.
func (l *load) begin() {
	var ctx context.Context
	ctx, l.stop = context.WithCancel(context.Background())
	l.t.Cleanup(func() {
		l.over.Store(true)
		l.end()
	})
	for i := range l.number {
		random := rand.New(rand.NewPCG(l.seed, uint64(i)))
		l.callers.Go(func() {
			for n := 0; l.gate.wait(ctx); n++ {
				l.one(ctx, random, fmt.Sprintf("%d-%d", i, n))
			}
		})
	}
	l.callers.Go(func() { l.look(ctx) })
}

// end lets the callers finish their current requests and waits for them.
func (l *load) end() {
	l.stop()
	l.gate.open()
	l.callers.Wait()
}

// one starts a run and, at random, repeats the request with the same key, waits for the
// run, or both.
func (l *load) one(ctx context.Context, random *rand.Rand, n string) {
	kind := l.kinds[random.IntN(len(l.kinds))]
	body, headers := object{"n": n}, []string{"Idempotency-Key: " + n}
	if kind == "hook" {
		body["run_options"] = object{"webhook": object{"url": l.inbox.URL + "/run/" + n}}
	}
	if random.IntN(2) == 0 {
		headers = append(headers, "Prefer: wait=10")
	}
	for range 1 + random.IntN(8)/7 {
		r := l.insist(ctx, random, kind, body, headers)
		if r == nil {
			continue
		}
		l.note(kind, n, r)
		if l.follows && random.IntN(8) == 0 {
			l.follow(ctx, random, r)
		}
	}
}

// insist retries a start with its idempotency key until it gets a final response. It retries
// without a response and after 409, 500 and 503; 429 means that the key has reached its
// limit. It returns nil if no run was started.
func (l *load) insist(ctx context.Context, random *rand.Rand, kind string, body object, headers []string) *run {
	for deadline := time.Now().Add(2 * waitTimeout); time.Now().Before(deadline); {
		l.gate.wait(context.WithoutCancel(ctx))
		if l.over.Load() {
			return nil
		}
		i, startedAt := l.pick(random), time.Now()
		c := *l.any[i]
		if own, ok := l.keys[kind]; ok {
			c.key = own
		}
		a, err := c.try("POST", "/v1/flow/"+l.flows[kind]+"/run", body, headers...)
		if err == nil {
			l.saw(i, a)
		}
		if err != nil || a.status == 409 || a.status == 500 || a.status == 503 {
			time.Sleep(time.Duration(5+random.IntN(40)) * time.Millisecond)
			continue
		}
		if a.status == 429 && l.keys[kind] != "" {
			return nil
		}
		r, err := a.tryRun()
		if err != nil {
			l.fault("server %d refused a start: %v", i, err)
		} else if kind == "pure" && a.status == 200 {
			l.sample(i, startedAt)
		}
		return r
	}
	l.fault("a start was not answered for %s", 2*waitTimeout)
	return nil
}

// pick returns a random server that requests may go to.
func (l *load) pick(random *rand.Rand) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shunned < 0 {
		return random.IntN(len(l.any))
	}
	return (l.shunned + 1 + random.IntN(len(l.any)-1)) % len(l.any)
}

// shun stops new requests to a server, as a load balancer would; -1 allows all servers again.
func (l *load) shun(i int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shunned = i
}

// saw counts a response. A 500 is a fault, and so is a 503 without Retry-After.
func (l *load) saw(i int, a *response) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.statuses[a.status]++
	switch {
	case a.status == 500:
		l.faults = append(l.faults, fmt.Sprintf("server %d answered 500 at %s: %s", i, time.Now().Format(time.TimeOnly), a.body))
	case a.status == 503 && a.header.Get("Retry-After") == "":
		l.faults = append(l.faults, fmt.Sprintf("server %d answered 503 without Retry-After: %s", i, a.body))
	}
}

// sample is the time from a start to the response with the ended run.
type sample struct {
	server    int
	startedAt time.Time
	took      time.Duration
}

func (l *load) sample(i int, startedAt time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.samples = append(l.samples, sample{i, startedAt, time.Since(startedAt)})
}

func (l *load) note(kind, n string, r *run) {
	if r.ended() && kind == "call" && r.Status == "succeeded" {
		l.ledger.observe(r.ID + ":a")
		l.ledger.observe(r.ID + ":b")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, known := l.accepted[kind+" "+n]; known && before != r.ID {
		l.faults = append(l.faults, fmt.Sprintf("one idempotency key, two runs: %s and %s", before, r.ID))
	}
	l.accepted[kind+" "+n] = r.ID
	if kind == "call" && !r.ended() {
		l.recent = append(l.recent[max(0, len(l.recent)-63):], r)
	}
}

func (l *load) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// look reads the steps of running runs and records which results are stored.
func (l *load) look(ctx context.Context) {
	random := rand.New(rand.NewPCG(l.seed, crashCallers))
	for l.gate.wait(ctx) {
		l.mu.Lock()
		var r *run
		if len(l.recent) > 0 {
			r = l.recent[random.IntN(len(l.recent))]
		}
		l.mu.Unlock()
		if r == nil || !l.lookAt(l.pick(random), r.ID) || l.follows { // callers of three servers need the processor too
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// lookAt records which steps of a run are stored. It returns false without a response.
func (l *load) lookAt(i int, runID string) bool {
	a, err := l.any[i].try("GET", runPath(l.flows["call"], runID)+"/steps", nil)
	if err != nil {
		return false
	}
	if l.saw(i, a); a.status != 200 {
		return false
	}
	list, _ := a.object(l.t)["steps"].([]any)
	for _, item := range list {
		if st, _ := item.(object); st["state"] == "succeeded" {
			l.ledger.observe(fmt.Sprintf("%s:%s", runID, st["path"]))
		}
	}
	return true
}

// gate holds callers back while the server is down.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // nil while open
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

// wait returns when the gate is open, or false when the load has ended.
func (g *gate) wait(ctx context.Context) bool {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut != nil {
		select {
		case <-shut:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}
