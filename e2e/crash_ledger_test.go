package e2e

import (
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// ledger is the service that flows call. It records how often each step called it, and
// whether the result of the step is known to be stored. Steps are identified by their
// execution key, run_id:path.
type ledger struct {
	*httptest.Server

	mu       sync.Mutex
	calls    map[string]int
	recorded map[string]bool
	doubts   map[string]int // kills between a call and the observation of its recorded result
	last     map[string]time.Time
	total    int
	faults   []string
	working  map[string]map[string]int // calls in progress, by path of the ledger and run ID
	most     map[string]int            // most runs that called concurrently, by path

	// anyDoubt is set where faults other than kills put steps in doubt: a step
	// may then be called again at any time until its result is recorded.
	anyDoubt bool
}

func newLedger(t testing.TB) *ledger {
	l := &ledger{
		calls: map[string]int{}, recorded: map[string]bool{}, doubts: map[string]int{}, last: map[string]time.Time{},
		working: map[string]map[string]int{}, most: map[string]int{},
	}
	l.Server = httptest.NewServer(http.HandlerFunc(l.serve))
	t.Cleanup(l.Close)
	return l
}

// serve responds after 20 to 50 ms with the execution key of the call. A call by step b
// proves that step a was recorded, because b depends on a.
func (l *ledger) serve(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return // the caller was killed before it had sent the whole request
	}
	key := r.Header.Get("Idempotency-Key")
	if runID, isB := strings.CutSuffix(key, ":b"); isB {
		l.observe(runID + ":a")
	}
	first := l.call(key)
	defer l.work(r.URL.Path, key)()
	h := fnv.New32()
	_, _ = h.Write([]byte(key))
	select {
	case <-time.After(time.Duration(20+h.Sum32()%30) * time.Millisecond):
	case <-r.Context().Done():
		return
	}
	if first && r.URL.Path == "/flaky" {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"key": %q}`, key)
}

// call counts a call and reports whether it is the step's first.
func (l *ledger) call(key string) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total++
	l.calls[key]++
	l.last[key] = time.Now()
	if l.recorded[key] {
		l.faults = append(l.faults, "called again after its result was recorded: "+key)
	}
	return l.calls[key] == 1
}

// work counts a run as working at a path until the returned function is called.
func (l *ledger) work(path, key string) (done func()) {
	runID, _, _ := strings.Cut(key, ":")
	l.mu.Lock()
	defer l.mu.Unlock()
	runs := l.working[path]
	if runs == nil {
		runs = map[string]int{}
		l.working[path] = runs
	}
	runs[runID]++
	l.most[path] = max(l.most[path], len(runs))
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if runs[runID]--; runs[runID] == 0 {
			delete(runs, runID)
		}
	}
}

// lastCall returns the time of a step's last call, or the zero time.
func (l *ledger) lastCall(key string) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last[key]
}

// repeated returns the steps that were called more than once.
func (l *ledger) repeated() (keys []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, n := range l.calls {
		if n > 1 {
			keys = append(keys, key)
		}
	}
	return keys
}

// atOnce returns the largest number of runs that called a path concurrently.
func (l *ledger) atOnce(path string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.most[path]
}

// observe records that a step's result is recorded, so that no call may follow.
func (l *ledger) observe(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recorded[key] = true
}

// killed is called when the server is dead. It returns the steps that were called and are
// not known to be recorded: only these may be called again.
func (l *ledger) killed() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var open []string
	for key := range l.calls {
		if !l.recorded[key] {
			l.doubts[key]++
			open = append(open, key)
		}
	}
	return open
}

// seen returns the number of calls so far.
func (l *ledger) seen() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// check fails the test if a step was called more often than kills can explain, and returns the
// number of repeated calls.
func (l *ledger) check(t testing.TB) (repeats int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, n := range l.calls {
		repeats += n - 1
		if n-1 > l.doubts[key] && !l.anyDoubt {
			l.faults = append(l.faults, fmt.Sprintf("%s was called %d times although %d kills left it in doubt", key, n, l.doubts[key]))
		}
	}
	reportSome(t, l.faults)
	return repeats
}

// particular matches the parts that differ between faults of one sort.
var particular = regexp.MustCompile(`[a-z]+_[0-9A-Za-z]{16,}|\b[0-9.]+(µs|ms|s)?\b`)

// reportSome fails the test with a few examples of each sort of fault.
func reportSome(t testing.TB, faults []string) {
	t.Helper()
	for _, f := range sorted(faults) {
		t.Error(f)
	}
}

// sorted groups faults by sort and returns a text for each: the count and examples.
func sorted(faults []string) (texts []string) {
	sorts := map[string][]string{}
	for _, f := range faults {
		sort := particular.ReplaceAllString(f, "#")
		sorts[sort] = append(sorts[sort], f)
	}
	for _, sort := range slices.Sorted(maps.Keys(sorts)) {
		list := sorts[sort]
		texts = append(texts, fmt.Sprintf("%d × %s", len(list), strings.Join(list[:min(len(list), 3)], "\n    ")))
	}
	return texts
}

// inbox receives webhooks and checks that each event has one ID and one body, however
// often it is delivered.
type inbox struct {
	*httptest.Server

	mu     sync.Mutex
	ids    map[string]string // event to webhook-id
	bodies map[string]string // webhook-id to body
	again  int
	faults []string
}

func newInbox(t testing.TB) *inbox {
	b := &inbox{ids: map[string]string{}, bodies: map[string]string{}}
	b.Server = httptest.NewServer(http.HandlerFunc(b.receive))
	t.Cleanup(b.Close)
	return b
}

// receive records a message. The last part of the path names the event.
func (b *inbox) receive(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	id, event := r.Header.Get("Webhook-Id"), r.URL.Path
	b.mu.Lock()
	defer b.mu.Unlock()
	if before, known := b.ids[event]; known && before != id {
		b.faults = append(b.faults, fmt.Sprintf("%s came as %s and as %s", event, before, id))
	}
	before, known := b.bodies[id]
	if known && before != string(body) {
		b.faults = append(b.faults, fmt.Sprintf("%s came with another body: %s, then %s", id, before, body))
	}
	if known {
		b.again++
	}
	b.ids[event], b.bodies[id] = id, string(body)
}

func (b *inbox) has(event string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.ids[event]
	return ok
}
