package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"sluice/providers/scripted"
)

// crashTurns is the number of turns with calls of each agent in TestCrashAgents_write_nothing_twice.
const crashTurns = 10

// agentWorld is the model and the service that the agents of TestCrashAgents_write_nothing_twice call. It counts all
// requests, and stops the test's server at one of them.
type agentWorld struct {
	mu     sync.Mutex
	model  int            // requests of turns
	bills  map[string]int // the same, by the question of the agent and the number of the turn
	turns  int            // attempts of turns that runs recorded
	calls  map[string]int // of tools, by idempotency key
	hits   int
	target int           // the hit at which the server dies
	hold   bool          // that hit gets no answer
	due    chan struct{} // receives at the target
	dead   chan struct{} // closed once the server is dead
}

// hit counts a request. It blocks the one at which the server dies, if that gets no answer.
func (w *agentWorld) hit(count func()) {
	w.mu.Lock()
	count()
	w.hits++
	is, hold, dead := w.hits == w.target, w.hold, w.dead
	w.mu.Unlock()
	if is {
		w.due <- struct{}{}
		if hold {
			<-dead
		}
	}
}

// aim chooses the next request at which the server dies.
func (w *agentWorld) aim(random *rand.Rand) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.target, w.hold, w.dead = w.hits+1+random.IntN(30), random.IntN(3) > 0, make(chan struct{})
}

// serve is the service. It acts whether or not the caller gets the answer.
func (w *agentWorld) serve(out http.ResponseWriter, r *http.Request) {
	w.hit(func() { w.calls[r.URL.Path+" "+r.Header.Get("Idempotency-Key")]++ })
	_, _ = io.WriteString(out, "done")
}

// answer is the model: in each turn it asks for a flow, a read and a write.
func (w *agentWorld) answer(r *scripted.Request) scripted.Answer {
	w.hit(func() {
		w.model++
		w.bills[fmt.Sprint(r.User, " ", r.Turn+1)]++
	})
	if r.Turn == crashTurns {
		return scripted.Answer{Text: "All done."}
	}
	arguments := fmt.Sprintf(`{"n": "%d"}`, r.Turn)
	return scripted.Answer{Calls: []scripted.Call{
		{ID: fmt.Sprint("a", r.Turn), Name: "child", Arguments: arguments},
		{ID: fmt.Sprint("b", r.Turn), Name: "read", Arguments: arguments},
		{ID: fmt.Sprint("c", r.Turn), Name: "write", Arguments: arguments},
	}}
}

// TestCrashAgents_write_nothing_twice kills the server while agents work, at random requests of their turns and calls. A
// flow as a tool runs exactly once, a write at most once, a read at least once under one key, and no
// recorded turn is asked for again. Reservations in the budgets of the run and the agent end with the server. The cost is the model's bill without
// calls that are marked as lost.
func TestCrashAgents_write_nothing_twice(t *testing.T) {
	t.Parallel()
	from := loggedSeed(t)
	for _, on := range []string{"SQLite", "PostgreSQL"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			var s *server
			if on == "PostgreSQL" {
				s = serversOn(t, 3)[0] // the others take over its runs
			} else {
				s = newServer(t)
			}
			crashAgents(t, s, rand.New(rand.NewPCG(from, 1<<34)))
		})
	}
}

func crashAgents(t *testing.T, s *server, random *rand.Rand) {
	w := &agentWorld{calls: map[string]int{}, bills: map[string]int{}, due: make(chan struct{}, 1)}
	shop, model := httptest.NewServer(http.HandlerFunc(w.serve)), httptest.NewServer(scripted.New(w.answer))
	t.Cleanup(shop.Close)
	t.Cleanup(model.Close)
	if r := s.commandWith("sk-test", "credential", "add", "--name", "fake", "--provider", "openai_compatible", "--base-url", model.URL+"/v1"); r.code != 0 {
		t.Fatal(r.errs)
	}
	s.must("price", "set", "fake/m", "--input", "100", "--output", "200") // so that turns reserve what they may cost
	child := s.publish(documentOf("Child", []object{input("n"), node("say", "template", object{"template": "child {{n}}"}), output("said")}, "n.value > say.n", "say.text > out_said.value"))
	contract := object{"inputs": []object{{"name": "n", "type": "text", "required": true}}, "outputs": []object{{"name": "said", "type": "text"}}}
	tool := func(description string, more ...string) object {
		setting := object{"description": description}
		for i := 0; i < len(more); i += 2 {
			setting[more[i]] = more[i+1]
		}
		return object{"tool": setting}
	}
	id := s.publish(documentOf("Agent", []object{
		input("question"), node("agent", "agent", object{"model": "fake/m", "prompt": "{{question}}", "max_usd": 1000}), output("answer"),
		node("child", "subflow", object{"flow": child, "contract": contract}, tool("Runs a flow.", "approval", "never")),
		node("read", "http_request", object{"method": "POST", "url": shop.URL + "/read/{{n}}"}, tool("Reads.", "effect", "read")),
		node("write", "http_request", object{"method": "POST", "url": shop.URL + "/write/{{n}}"}, tool("Writes.", "approval", "never")),
	}, "question.value > agent.question", "agent.text > out_answer.value", "child.tool > agent.tools", "read.tool > agent.tools", "write.tool > agent.tools"))
	c := s.client(s.key())
	var runs []*run
	kills := max(*rounds, 10)
	for range kills {
		w.aim(random)
		for dead := false; !dead; {
			runs = append(runs, c.start(id, object{"question": fmt.Sprint(len(runs)), "run_options": object{"max_usd": 1000}}))
			select {
			case <-w.due:
				dead = true
			case <-done(c, runs[len(runs)-1]): // it has ended before the target
			}
		}
		s.kill()
		close(w.dead)
		s.start()
		c = s.client(c.key)
	}
	unknown := 0
	for _, r := range runs {
		unknown += w.check(t, c, r)
	}
	repeats := 0
	for key, n := range w.calls {
		if strings.HasPrefix(key, "/write") && n > 1 {
			t.Errorf("%s was made %d times", key, n)
		}
		repeats += n - 1
	}
	if w.model > w.turns {
		t.Errorf("the model got %d requests, and the runs recorded %d", w.model, w.turns)
	}
	t.Logf("%d kills, %d agents, %d requests of turns, %d calls, %d repeated reads, %d unknown outcomes", kills, len(runs), w.model, len(w.calls), repeats, unknown)
}

// done returns a channel that is closed once a run has ended, or the server is dead.
func done(c *client, r *run) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			a, err := c.try("GET", r.path()+"?wait=5", nil)
			if err != nil {
				return
			}
			if r, err := a.tryRun(); err != nil || r.ended() {
				return
			}
		}
	}()
	return ended
}

// check checks one agent, and returns the number of its calls with an unknown outcome.
func (w *agentWorld) check(t *testing.T, c *client, r *run) (unknown int) {
	t.Helper()
	if r = c.await(r); r.Status != "succeeded" || r.Outputs["answer"] != "All done." {
		t.Errorf("%s is %s: %v %v", r.ID, r.Status, r.Outputs, r.Error)
		return 0
	}
	paths, lost := map[string]string{}, 0
	for cursor := "?under=agent"; cursor != ""; {
		var page struct {
			Steps []struct {
				Path, State string
				Attempts    int
				Error       struct{ Code string }
				Usage       struct {
					InputTokens int `json:"input_tokens"`
				}
			}
			NextCursor string `json:"next_cursor"`
		}
		read(t, c, r.path()+"/steps"+cursor, &page)
		for _, step := range page.Steps {
			paths[step.Path] = step.State
			isWrite := strings.HasSuffix(step.Path, ".3")
			switch {
			case isWrite && step.Error.Code == "outcome_unknown":
				unknown++
			case step.State != "succeeded":
				t.Errorf("%s: %s is %s %s", r.ID, step.Path, step.State, step.Error.Code)
			}
			if strings.Count(step.Path, ".") == 1 {
				w.turns += step.Attempts
				lost += w.checkBills(t, r, strings.TrimPrefix(step.Path, "agent."), step.Attempts)
				if step.Usage.InputTokens != 7 {
					t.Errorf("%s: %s used %d tokens", r.ID, step.Path, step.Usage.InputTokens)
				}
			}
		}
		if cursor = ""; page.NextCursor != "" {
			cursor = "?under=agent&cursor=" + page.NextCursor
		}
	}
	checkCost(t, c, r, lost)
	if len(paths) != crashTurns*4+1 {
		t.Errorf("%s has %d steps inside of the agent", r.ID, len(paths))
	}
	children, ok := (&mapLoad{c: c}).children(r, "")
	ids := map[string]bool{}
	for i := range children {
		ids[children[i].RunID] = children[i].Status == "succeeded"
	}
	if !ok || len(children) != crashTurns || len(ids) != crashTurns {
		t.Errorf("%s made %d runs of the child, want %d", r.ID, len(children), crashTurns)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for turn := 1; turn <= crashTurns; turn++ {
		for call, name := range map[int]string{2: "read", 3: "write"} {
			key := fmt.Sprintf("/%s/%d %s:agent.%d.%d", name, turn-1, r.ID, turn, call)
			if n := w.calls[key]; n == 0 && paths[fmt.Sprintf("agent.%d.%d", turn, call)] == "succeeded" {
				t.Errorf("%s was recorded and not made", key)
			}
		}
	}
	return unknown
}

// checkBills compares how often the model billed a turn with the attempts that are recorded. It returns 1 for a turn with bills that no answer came for.
func (w *agentWorld) checkBills(t *testing.T, r *run, turn string, attempts int) (lost int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	billed := w.bills[fmt.Sprint(r.Inputs["question"], " ", turn)]
	if billed < 1 || billed > attempts {
		t.Errorf("%s: the model billed turn %s %d times, and %d attempts are recorded", r.ID, turn, billed, attempts)
	}
	return min(1, billed-1)
}

// checkCost checks the cost of an agent, whose turns cost 7 × $100 and 3 × $200 for a million tokens. Turns with other bills are marked.
func checkCost(t *testing.T, c *client, r *run, lost int) {
	t.Helper()
	var got struct {
		Cost struct {
			USD           json.Number
			UnpricedSteps int `json:"unpriced_steps"`
		}
	}
	read(t, c, r.path(), &got)
	if got.Cost.USD != "0.0143" || got.Cost.UnpricedSteps < lost {
		t.Errorf("%s cost $%s and %d turns are marked as lost, but %d have bills without an answer", r.ID, got.Cost.USD, got.Cost.UnpricedSteps, lost)
	}
}

// read decodes the answer of the API.
func read(t *testing.T, c *client, path string, into any) {
	t.Helper()
	if err := json.Unmarshal(c.want(200, "GET", path, nil).body, into); err != nil {
		t.Fatal(err)
	}
}
