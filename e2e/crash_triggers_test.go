package e2e

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/e2e/need"
)

// triggerLoad is everything that starts without a caller, at once: schedules of every minute, events of a service, batches one after the other, and
// alarms that start and end.
type triggerLoad struct {
	t         *testing.T
	servers   []*server
	schedules *scheduleLoad
	hooks     *hookLoad
	batches   *batchLoad
	alarms    *alarmLoad
}

// newTriggerLoad starts the load. It lasts about as long as the test says, which bounds the number of events.
func newTriggerLoad(t *testing.T, servers []*server, source *rand.Rand, schedules, alarms int, lasts time.Duration) *triggerLoad {
	t.Helper()
	l := &triggerLoad{t: t, servers: servers, schedules: &scheduleLoad{t: t}}
	l.schedules.add(servers[0], schedules/2, object{"overlap": "allow", "catch_up": "all"})
	l.schedules.add(servers[0], schedules-schedules/2, object{}) // a late one catches up with one run, and skips a time while the last run continues
	l.schedules.from = time.Now().Truncate(time.Minute).Add(time.Minute)
	l.hooks = newHookLoad(t, servers, source, lasts)
	l.batches = newBatchLoad(t, servers, source)
	l.alarms = newAlarmLoad(t, servers, alarms)
	return l
}

// check ends the load, and fails the test unless everything happened once or has a reason. until is the last planned time.
func (l *triggerLoad) check(until time.Time) {
	l.t.Helper()
	l.hooks.check()
	l.batches.check()
	l.alarms.check()
	l.schedules.check(l.servers[0], until)
}

// batchLoad starts batches, each when the last one has ended.
type batchLoad struct {
	t       *testing.T
	servers []*server
	flow    string
	c       *client // of the first server
	stop    chan struct{}
	done    sync.WaitGroup
	ids     []string
}

// loadedRows is how many rows each batch of a batchLoad has.
const loadedRows = 40

func newBatchLoad(t *testing.T, servers []*server, source *rand.Rand) *batchLoad {
	t.Helper()
	l := &batchLoad{t: t, servers: servers, stop: make(chan struct{})}
	l.flow = servers[0].publish(documentOf("Row", []object{input("n"), node("say", "template", object{"template": "Row {{n}}"}), output("got")}, "n.value > say.n", "say.text > out_got.value"))
	l.c = servers[0].client(servers[0].key())
	own := rand.New(rand.NewPCG(source.Uint64(), 7))
	l.done.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-l.stop:
				return
			default:
				l.one(n, own)
			}
		}
	})
	return l
}

func (l *batchLoad) path(id string) string { return "/v1/flow/" + l.flow + "/batches/" + id }

// one starts a batch under a key of its own until it gets an answer, and waits for its end.
func (l *batchLoad) one(n int, source *rand.Rand) {
	rows := make([]object, loadedRows)
	for i := range rows {
		rows[i] = object{"n": fmt.Sprint(n, "-", i)}
	}
	insist := func(what, method, path string, body any, headers ...string) *response {
		for deadline := time.Now().Add(2 * waitTimeout); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			a, err := l.servers[source.IntN(len(l.servers))].client(l.c.key).tryWithin(30*time.Second, method, path, body, headers...)
			if err == nil && a.status < 300 {
				return a
			}
			if err == nil && a.status != 409 && a.status != 503 {
				l.t.Errorf("%s: %d %.300s", what, a.status, a.body)
				return nil
			}
		}
		l.t.Errorf("%s got no answer", what)
		return nil
	}
	a := insist("the start of a batch", "POST", "/v1/flow/"+l.flow+"/batches", object{"rows": rows, "concurrency": 2}, fmt.Sprintf("Idempotency-Key: batch-%d", n))
	if a == nil {
		return
	}
	id := fmt.Sprint(a.object(l.t)["run"].(map[string]any)["run_id"])
	l.ids = append(l.ids, id)
	for deadline := time.Now().Add(2 * waitTimeout); ; time.Sleep(50 * time.Millisecond) {
		a := insist("a batch", "GET", l.path(id), nil)
		if a == nil || a.object(l.t)["run"].(map[string]any)["ended_at"] != nil {
			return
		}
		if time.Now().After(deadline) {
			l.t.Errorf("the batch %s did not end: %.3000s\n%.3000s", id, a.body, l.c.want(200, "GET", "/v1/flow/"+l.flow+"/runs?work=batch&limit=50", nil).body)
			return
		}
	}
}

// check ends the load, and fails the test unless each batch has each row once, in order, and ended.
func (l *batchLoad) check() {
	l.t.Helper()
	close(l.stop)
	l.done.Wait()
	var wrong []string
	runs := map[string]bool{}
	for n, id := range l.ids {
		list, err := csv.NewReader(strings.NewReader(string(l.c.want(200, "GET", l.path(id)+"/results?format=csv", nil).body))).ReadAll()
		if err != nil || len(list) != loadedRows+1 {
			wrong = append(wrong, fmt.Sprintf("batch %s has %d rows of results: %v", id, len(list)-1, err))
			continue
		}
		column := func(row []string, name string) string { return row[slices.Index(list[0], name)] }
		for i, r := range list[1:] {
			runID := column(r, "_run_id")
			if column(r, "n") != fmt.Sprint(n, "-", i) || column(r, "_status") != "succeeded" || column(r, "got") != fmt.Sprint("Row ", n, "-", i) || runs[runID] {
				wrong = append(wrong, fmt.Sprintf("row %d of batch %s is %q", i, id, r))
			}
			runs[runID] = true
		}
	}
	reportSome(l.t, wrong)
	if l.t.Logf("%d batches of %d rows", len(l.ids), loadedRows); len(l.ids) == 0 {
		l.t.Error("no batch was started, so none was tested")
	}
}

// alarmLoad are alarms, each of its own flow, whose run fails once and then succeeds.
type alarmLoad struct {
	t     *testing.T
	box   *alarmBox
	c     *client
	flows []string
	fired int
}

func newAlarmLoad(t *testing.T, servers []*server, alarms int) *alarmLoad {
	t.Helper()
	l := &alarmLoad{t: t, box: newAlarmBox(t), c: servers[0].client(servers[0].key("--scope", "edit,read,run"))}
	for i := range alarms {
		id := servers[0].publish(dividing())
		l.c.want(200, "PUT", fmt.Sprintf("/v1/alarms/broken-%d", i), object{"kind": "failed", "flow": id, "clear_after": "1m", "to": []any{object{"webhook": l.box.URL}}})
		l.flows = append(l.flows, id)
	}
	return l
}

// fire lets the next alarm start, and the one before end.
func (l *alarmLoad) fire() {
	l.t.Helper()
	if l.fired == len(l.flows) {
		return
	}
	l.c.start(l.flows[l.fired], object{"n": "0"}, fmt.Sprintf("Idempotency-Key: fail-%d", l.fired))
	if l.fired++; l.fired > 1 {
		l.c.start(l.flows[l.fired-2], object{"n": "1"}, fmt.Sprintf("Idempotency-Key: succeed-%d", l.fired))
	}
}

// check fails the test unless each alarm sends one message when it starts and one when it ends. A message may arrive twice, with the same ID.
func (l *alarmLoad) check() {
	l.t.Helper()
	for _, id := range l.flows[:l.fired] { // at last, because the clock was set back since
		l.c.start(id, object{"n": "1"})
	}
	for _, of := range []string{"alarm.started", "alarm.ended"} {
		waitUntil(l.t, "all alarms have sent "+of, func() bool { return l.box.types(of) == l.fired })
	}
	l.box.mu.Lock()
	defer l.box.mu.Unlock()
	for key, ids := range l.box.seen {
		if len(ids) != 1 {
			l.t.Errorf("%s was sent with %d IDs", key, len(ids))
		}
	}
	l.t.Logf("%d alarms started and ended", l.fired)
}

// killPause is a random pause between faults, and expectedFault about how long a fault and the pause before it take; it only sets the rate of events.
func killPause(source *rand.Rand) time.Duration {
	return time.Duration(200+source.IntN(1300)) * time.Millisecond
}

const expectedFault = 10 * time.Second

// TestCrashTriggers_start_everything_once kills and freezes one server at random moments while schedules, webhooks, batches and alarms are at work. Its clock is
// set an hour ahead, back, and ahead again, so that each schedule has more than sixty planned times. -rounds sets the number of faults.
func TestCrashTriggers_start_everything_once(t *testing.T) {
	need.Time(t)
	t.Parallel()
	source := random(t)
	s := newServer(t)
	s.faulty = true
	env := s.env
	faults := max(9, *rounds)
	l := newTriggerLoad(t, []*server{s}, source, 10, min(20, faults/3), time.Duration(faults)*expectedFault)
	for n := range faults {
		time.Sleep(killPause(source)) // the random moment itself
		if n%10 == 8 {
			s.freeze(time.Second)
			continue
		}
		skew := "0s"
		if n >= faults/3 && n < 2*faults/3 {
			skew = "1h"
		}
		s.kill()
		s.env = append(env[:len(env):len(env)], skewVariable+"="+skew)
		s.start()
		if n%(faults/min(20, faults/3)) == 0 {
			l.alarms.fire()
		}
	}
	s.kill()
	s.env = append(env[:len(env):len(env)], skewVariable+"=1h") // so that all planned times have come
	s.start()
	t.Logf("%d faults", faults)
	l.check(time.Now().Add(time.Hour).Truncate(time.Minute))
}

// TestFleetTriggers_start_everything_once does that with three servers on PostgreSQL whose clocks differ by an hour. Some faults freeze a server for longer than an
// instance may be silent.
func TestFleetTriggers_start_everything_once(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	source := random(t)
	skews := []string{"0s", "1h", "-1h"}
	f := newFleet(t, fleetConfig{env: func(i int) []string { return []string{skewVariable + "=" + skews[i]} }})
	faults := max(12, *rounds)
	l := newTriggerLoad(t, f.servers, source, 100, min(20, faults/3), time.Duration(faults)*expectedFault)
	for n := range faults {
		time.Sleep(killPause(source)) // the random moment itself
		s := f.servers[source.IntN(len(f.servers))]
		switch {
		case n%20 == 9:
			s.freeze(25 * time.Second)
			continue
		case n%20 == 19:
			s.freeze(time.Second)
			continue
		}
		s.kill()
		s.start()
		if n%(faults/min(20, faults/3)) == 0 {
			l.alarms.fire()
		}
	}
	for _, s := range f.servers {
		s.awaitReady(s.process())
	}
	t.Logf("%d faults", faults)
	until := time.Now().Truncate(time.Minute)
	if until.Before(l.schedules.from) {
		until = l.schedules.from
	}
	l.check(until)
}

// freeze stops the process for a time, as a busy host does.
func (s *server) freeze(d time.Duration) {
	s.t.Helper()
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := s.process().cmd.Process.Signal(sig); err != nil {
			s.t.Fatalf("signal the server: %v", err)
		}
		if sig == syscall.SIGSTOP {
			time.Sleep(d) // the fault itself
		}
	}
}
