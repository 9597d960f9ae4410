package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/e2e/need"
	"sluice/providers/scripted"
)

const (
	// soakMinutes is how long TestSoak_loses_nothing_and_stays_flat runs; -rounds sets another number of minutes.
	soakMinutes = 2
	// soakRetention is how long ended runs are kept in it. From three times that on, nothing may grow.
	soakRetention = 5 * time.Minute
	// soakCallers start runs one after the other.
	soakCallers = 6
	// soakGrowth is how much memory and tables may grow in the second half of a long soak.
	soakGrowth = 1.3
)

// soak is three servers on PostgreSQL and callers that run agents, maps and approvals on them.
type soak struct {
	*fleet
	model, shop *httptest.Server
	kinds       map[string]string // ID of the flow by what it does
	key, person string

	mu      sync.Mutex
	ended   map[string]int // runs that ended as they should, by kind
	slowest time.Duration
	samples []soakSample
}

// soakSample is what the system takes at one moment.
type soakSample struct {
	memory int64 // of the server that is never killed
	tables int64 // bytes of all tables with content and indexes, without those that keep a row for each run for 400 days
	runs   int64 // bytes of the runs
	rows   int64 // runs with content
}

// TestSoak_loses_nothing_and_stays_flat runs agents, maps and approvals over three servers while two of them are killed and frozen, and ended runs are
// erased after five minutes. Every run ends as it should, and in the second half of a long soak neither the memory of the third server nor the tables grow.
func TestSoak_loses_nothing_and_stays_flat(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	source := random(t)
	s := &soak{
		fleet: newFleet(t, fleetConfig{env: func(int) []string { return []string{"SLUICE_RETENTION=" + soakRetention.String()} }}),
		kinds: map[string]string{}, ended: map[string]int{},
	}
	s.publish()
	until := time.Now().Add(time.Duration(fleetRounds(soakMinutes)) * time.Minute)
	var callers sync.WaitGroup
	for i := range soakCallers {
		own := rand.New(rand.NewPCG(source.Uint64(), uint64(i)))
		callers.Go(func() {
			for n := 0; time.Now().Before(until); n++ {
				s.one([]string{"agent", "map", "approval"}[(i+n)%3], fmt.Sprintf("%d-%d", i, n), own)
			}
		})
	}
	faults := 0
	for sampled := (time.Time{}); time.Now().Before(until); faults++ {
		if time.Since(sampled) > time.Minute {
			sampled = time.Now()
			s.sample()
		}
		time.Sleep(time.Duration(5+source.IntN(15)) * time.Second) // the random moment itself
		victim := 1 + source.IntN(len(s.servers)-1)
		if faults%4 == 3 { // longer than an instance may be silent
			s.signal(victim, syscall.SIGSTOP)
			time.Sleep(30 * time.Second)
			s.signal(victim, syscall.SIGCONT)
			continue
		}
		s.servers[victim].kill()
		s.restart(victim)
	}
	callers.Wait()
	s.sample()
	s.checkAlive()
	s.checkFlat()
	t.Logf("%d faults in %d minutes; ended as they should: %v; the slowest took %s", faults, fleetRounds(soakMinutes), s.ended, s.slowest.Round(time.Second))
}

// restart starts a server again. While the database does not answer, a server ends with an error instead, and what watches it starts it again.
func (s *soak) restart(victim int) {
	s.t.Helper()
	for deadline := time.Now().Add(2 * waitTimeout); ; time.Sleep(time.Second) {
		err := s.servers[victim].tryStart()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatal(err)
		}
		s.t.Logf("server %d is started again: %v", victim, err)
	}
}

// publish creates the services and the flows.
func (s *soak) publish() {
	s.shop = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("done")) }))
	s.model = httptest.NewServer(scripted.New(func(r *scripted.Request) scripted.Answer {
		if r.Turn == 4 {
			return scripted.Answer{Text: "All done."}
		}
		arguments := fmt.Sprintf(`{"n": "%d"}`, r.Turn)
		return scripted.Answer{Calls: []scripted.Call{{ID: fmt.Sprint("a", r.Turn), Name: "child", Arguments: arguments}, {ID: fmt.Sprint("b", r.Turn), Name: "read", Arguments: arguments}}}
	}))
	s.t.Cleanup(s.shop.Close)
	s.t.Cleanup(s.model.Close)
	at := s.servers[0]
	if r := at.commandWith("sk-test", "credential", "add", "--name", "fake", "--provider", "openai_compatible", "--base-url", s.model.URL+"/v1"); r.code != 0 {
		s.t.Fatal(r.errs)
	}
	child := at.publish(documentOf("Child", []object{input("n"), post("a", s.shop.URL), node("say", "template", object{"template": "child {{n}}"}), output("said")}, "n.value > a.n", "n.value > say.n", "say.text > out_said.value"))
	contract := object{"inputs": []object{{"name": "n", "type": "text", "required": true}}, "outputs": []object{{"name": "said", "type": "text"}}}
	s.kinds["agent"] = at.publish(documentOf("Agent", []object{
		input("n"), node("agent", "agent", object{"model": "fake/m", "prompt": "{{n}}"}), output("got"),
		node("child", "subflow", object{"flow": child, "contract": contract}, object{"tool": object{"description": "Runs a flow.", "approval": "never"}}),
		node("read", "http_request", object{"method": "POST", "url": s.shop.URL + "/read/{{n}}"}, object{"tool": object{"description": "Reads.", "effect": "read"}}),
	}, "n.value > agent.n", "agent.text > out_got.value", "child.tool > agent.tools", "read.tool > agent.tools"))
	s.kinds["map"] = at.publish(documentOf("Map", []object{
		node("list", "input", object{"name": "list", "type": "list"}),
		node("each", "map", object{"flow": child, "over": []string{"n"}, "concurrency": 4, "contract": contract}), output("got"),
	}, "list.value > each.input.n", "each.said > out_got.value"))
	s.kinds["approval"] = at.publish(documentOf("Ask", []object{input("n"), node("ask", "approval", object{"title": "Go?", "values": []string{"draft"}}), output("got")}, "n.value > ask.draft", "ask.draft > out_got.value"))
	s.key, s.person = at.key("--scope", "run,read"), at.key("--scope", "approve")
}

// insist repeats a request at random servers until it succeeds. It returns nil after too long a time, which is a fault.
func (s *soak) insist(random *rand.Rand, what string, send func(at *server) (*response, error)) *response {
	var last any
	for deadline := time.Now().Add(2 * waitTimeout); time.Now().Before(deadline); {
		a, err := send(s.servers[random.IntN(len(s.servers))])
		switch {
		case err != nil:
			last = err
		case a.status < 300:
			return a
		case a.status == 409 || a.status == 503: // the start is under way, or the server cannot now
			last = string(a.body)
		default:
			s.t.Errorf("%s: status %d: %.300s", what, a.status, a.body)
			return nil
		}
		time.Sleep(time.Duration(20+random.IntN(100)) * time.Millisecond) // as clients wait between their tries
	}
	s.t.Errorf("%s was not answered for %s: %v", what, 2*waitTimeout, last)
	return nil
}

// one starts a run, answers its question, and checks its end.
func (s *soak) one(kind, n string, random *rand.Rand) {
	began, inputs, want := time.Now(), object{"n": n}, any(n)
	switch kind {
	case "agent":
		want = "All done."
	case "map":
		list, said := []string{}, []any{}
		for i := range 10 {
			list, said = append(list, fmt.Sprint(n, "-", i)), append(said, fmt.Sprint("child ", n, "-", i))
		}
		inputs, want = object{"list": list}, said
	}
	a := s.insist(random, "a start", func(at *server) (*response, error) {
		return at.client(s.key).tryWithin(30*time.Second, "POST", "/v1/flow/"+s.kinds[kind]+"/run", inputs, "Idempotency-Key: "+n)
	})
	if a == nil {
		return
	}
	r := a.run(s.t)
	for time.Since(began) < 4*waitTimeout {
		if kind == "approval" {
			// 404 before it asks, 409 once it was answered; a lost answer is given again.
			_, _ = s.servers[random.IntN(len(s.servers))].client(s.person).tryWithin(30*time.Second, "POST", r.path()+"/approvals/ask", object{"decision": "approved"})
		}
		a := s.insist(random, r.ID, func(at *server) (*response, error) {
			return at.client(s.key).tryWithin(30*time.Second, "GET", r.path()+"?wait=5", nil)
		})
		if a == nil {
			return
		}
		if r = a.run(s.t); r.ended() {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slowest = max(s.slowest, time.Since(began))
	if got := r.Outputs["got"]; r.Status != "succeeded" || fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("the %s %s is %s after %s: %v %+v", kind, r.ID, r.Status, time.Since(began).Round(time.Second), r.Outputs, r.Error)
		return
	}
	s.ended[kind]++
}

// sample measures the system.
func (s *soak) sample() {
	s.t.Helper()
	m := soakSample{memory: s.servers[0].process().memory(s.t, "VmRSS")}
	size := "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname = current_schema() AND "
	for _, q := range []struct {
		into *int64
		sql  string
	}{
		{&m.tables, size + "c.relname NOT IN ('runs', 'usage_log')"}, {&m.runs, size + "c.relname = 'runs'"}, {&m.rows, "SELECT count(*) FROM runs WHERE erased = ''"},
	} {
		if err := s.query(q.into, q.sql); err != nil {
			s.t.Logf("no sample: %v", err) // the machine is too busy now
			return
		}
	}
	s.samples = append(s.samples, m)
	s.t.Logf("minute %d: %d MiB of memory, %d MiB of tables and %d MiB of runs, %d with content", len(s.samples)-1, m.memory>>20, m.tables>>20, m.runs>>20, m.rows)
}

// checkFlat compares the last quarter of a long soak with the second.
func (s *soak) checkFlat() {
	s.t.Helper()
	if time.Duration(len(s.samples))*time.Minute < 4*soakRetention {
		return // nothing or little has expired
	}
	quarter := len(s.samples) / 4
	for name, of := range map[string]func(soakSample) int64{
		"memory of a server": func(m soakSample) int64 { return m.memory }, "tables": func(m soakSample) int64 { return m.tables },
		"runs with content": func(m soakSample) int64 { return m.rows },
	} {
		middle := func(list []soakSample) int64 {
			values := make([]int64, len(list))
			for i, m := range list {
				values[i] = of(m)
			}
			slices.Sort(values)
			return values[len(values)/2]
		}
		before, after := middle(s.samples[quarter:2*quarter]), middle(s.samples[3*quarter:])
		s.t.Logf("%s: %d in the second quarter, %d in the last", name, before, after)
		if float64(after) > soakGrowth*float64(before) {
			s.t.Errorf("%s grew from %d to %d", name, before, after)
		}
	}
}
