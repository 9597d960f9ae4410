package agents_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/engine"
	"sluice/flow/sorting"
	"sluice/flow/value"
	"sluice/providers/scripted"
)

// TestAgent_orders_results_by_position (R4): calls that end in another order than the model asked for them keep their
// paths and the order of their results.
func TestAgent_orders_results_by_position(t *testing.T) {
	t.Parallel()
	w := script(t, "lookup {\"id\": \"slow\"}\nlookup {\"id\": \"quick\"}", "Done.")
	quick := make(chan struct{})
	w.shop.answer = func(out http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "slow") {
			<-quick
		} else {
			defer close(quick)
		}
		_, _ = fmt.Fprint(out, "found ", r.URL.Path)
	}
	r := w.ask(t, "", "")
	results := w.results(t, 2)
	if r.State != flow.StepSucceeded || len(results) != 2 {
		t.Fatalf("%s %v: %q", r.State, r.Error, results)
	}
	has(t, results[0], "/orders/slow")
	has(t, results[1], "/orders/quick")
	has(t, string(flow.EncodeJSON(r.rows["n.1.1"].Outputs)), "/orders/slow")
}

// snapshots are the rows of a run after each write.
type snapshots struct {
	record
	all []map[string]flow.Step
}

// WriteRun keeps the rows.
func (s *snapshots) WriteRun(_ context.Context, w flow.RunWrite) error {
	for _, step := range w.Steps {
		s.rows[step.Path] = step
	}
	s.run = w.Run
	s.all = append(s.all, maps.Clone(s.rows))
	return nil
}

// resume continues a run of a flow from its rows, as a worker does after a crash or a wait.
func (w *world) resume(t *testing.T, lines string, rows map[string]flow.Step) *snapshots {
	t.Helper()
	g, err := engine.Compile(w.document(t, lines), w.kinds)
	if err != nil {
		t.Fatal(err)
	}
	inputs, problems := contract.Check(contract.Inputs(w.document(t, lines), w.kinds), &flow.Object{}, false)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	now := time.Now()
	run := &flow.Run{ID: "run_1", WorkspaceID: flow.DefaultWorkspace, State: flow.RunRunning, Inputs: inputs, Timeout: time.Hour, CreatedAt: now, StartedAt: now, DeadlineAt: now.Add(time.Hour)}
	var steps []flow.Step
	for _, path := range sorting.Keys(rows) {
		step := rows[path]
		if !step.WaitUntil.IsZero() {
			step.WaitUntil = now // an answer makes the step due
		}
		steps = append(steps, step)
	}
	s := &snapshots{record: record{rows: maps.Clone(rows)}}
	if s.rows == nil {
		s.rows = map[string]flow.Step{}
	}
	e := &engine.Engine{Journal: s, Now: time.Now, Boundary: boundary, Report: func(err error) { t.Logf("reported: %v", err) }, Secrets: &flow.Resolver{Store: w}, Prices: w, Approvals: w.people}
	if _, err := e.Execute(t.Context(), engine.NewPlan(g, run, steps, nil), engine.Signals{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAgent_repeats_no_call_when_another_is_answered (R3): each call has a record of its own. A run that waits for two
// answers and gets one after the other makes each call once.
func TestAgent_repeats_no_call_when_another_is_answered(t *testing.T) {
	t.Parallel()
	w := script(t, "refund {\"amount\": 1}\nlookup {\"id\": \"1\"}\nrefund {\"amount\": 3}", "Done.")
	lines := strings.Replace(refunding, "TOOL", `, "approval": "always"`, 1)
	answered := map[string]bool{}
	w.people = &people{answer: func(path string, _ *flow.Question) *flow.Decision {
		if answered[path] {
			return &approved
		}
		return nil
	}}
	rows := map[string]flow.Step(nil)
	for i, want := range []struct{ answers, state, made string }{
		{"", "waiting", "/orders/1"},
		{"n.1.3.ask", "waiting", "/orders/1 /refunds/o-1/3"},
		{"n.1.1.ask", "succeeded", "/orders/1 /refunds/o-1/3 /refunds/o-1/1"},
	} {
		answered[want.answers] = true
		r := w.resume(t, lines, rows)
		if got := strings.Join(w.shop.paths, " "); string(r.rows["n"].State) != want.state || got != want.made {
			t.Fatalf("answer %d: %s, calls %s; want %s, calls %s", i, r.paths(), got, want.state, want.made)
		}
		rows = r.rows
	}
	if results := w.results(t, 2); len(w.model.Requests()) != 2 || len(results) != 3 {
		t.Errorf("%d turns, results %q", len(w.model.Requests()), results)
	}
}

// TestAgent_follows_from_recorded_rows (R5) continues an agent from the rows of each of its writes, as after a crash.
// Every turn is asked for with the same request as without one, also after a summary.
func TestAgent_follows_from_recorded_rows(t *testing.T) {
	t.Parallel()
	const turns = 9
	w := newWorld(t, func(r *scripted.Request) string {
		if strings.Contains(r.User, "has become too long") {
			return "A summary."
		}
		given := string(r.Raw)
		for turn := turns; turn > 0; turn-- {
			if strings.Contains(given, fmt.Sprintf("/orders/%d", turn)) {
				if turn == turns {
					return "Done."
				}
				return fmt.Sprintf("%s\nlookup {\"id\": \"%d\"}", strings.Repeat("thinking ", 400), turn+1)
			}
		}
		return `lookup {"id": "1"}`
	})
	lines := `
		n agent {"model": "fake/m", "prompt": "Where is it?", "compact_at": 6000}
		lookup http_request {"url": "SHOP/orders/{{id}}"} {"tool": {"description": "Finds an order."}}
		lookup.tool -> n.tools`
	execute := func(rows map[string]flow.Step) *snapshots { return w.resume(t, lines, rows) }
	whole := execute(nil)
	if whole.rows["n"].State != flow.StepSucceeded || !slices.ContainsFunc(sorting.Keys(whole.rows), func(path string) bool { return strings.HasSuffix(path, "s") }) {
		t.Fatalf("%s %v: %s", whole.rows["n"].State, whole.rows["n"].Error, whole.paths())
	}
	known := map[string]bool{}
	for _, r := range w.model.Requests() {
		known[string(flow.EncodeJSON(r.Body["messages"]))] = true
	}
	for i, rows := range whole.all[:len(whole.all)-1] {
		before := len(w.model.Requests())
		again := execute(rows)
		if again.rows["n"].State != flow.StepSucceeded || again.rows["n"].Outputs["text"] != "Done." || again.paths() != whole.paths() {
			t.Errorf("after write %d: %s", i+1, again.paths())
		}
		for _, r := range w.model.Requests()[before:] {
			if !known[string(flow.EncodeJSON(r.Body["messages"]))] {
				t.Errorf("after write %d, the model got another request", i+1)
			}
		}
	}
}

// TestAgent_gives_tools_simple_names (R15), which all providers take.
func TestAgent_gives_tools_simple_names(t *testing.T) {
	t.Parallel()
	w := script(t, "Done.")
	w.execute(t, `
		n agent {"model": "fake/m", "prompt": "Go."}
		find-the_order http_request {"url": "SHOP/1"} {"tool": {"description": "Finds."}}
		other http_request {"url": "SHOP/2"} {"tool": {"description": "Finds.", "name": "find_2"}}
		find-the_order.tool -> n.tools
		other.tool -> n.tools`, nil)
	names := w.model.Requests()[0].Tools
	valid := regexp.MustCompile(`^[a-z0-9_]{1,48}$`)
	if len(names) != 2 || names[1] != "find_2" || !valid.MatchString(names[0]) {
		t.Errorf("the tools are %q", names)
	}
}

// TestValidate_limits_the_tools_of_an_agent (R16).
func TestValidate_limits_the_tools_of_an_agent(t *testing.T) {
	t.Parallel()
	w := script(t, "Done.")
	problems := func(tools int) (list []string) {
		lines := "n agent {\"prompt\": \"x\"}\n"
		for i := range tools {
			lines += fmt.Sprintf("t%d http_request {\"url\": \"SHOP/%d\"} {\"tool\": {\"description\": \"x\"}}\nt%d.tool -> n.tools\n", i, i, i)
		}
		for _, p := range document.Validate(w.document(t, lines), w.kinds) {
			list = append(list, p.Detail)
		}
		return list
	}
	if got := problems(100); len(got) > 0 {
		t.Errorf("100 tools: %q", got)
	}
	if got := problems(101); len(got) != 1 || !strings.Contains(got[0], "100") {
		t.Errorf("101 tools: %q", got)
	}
}

// TestAgent_asks_for_strict_arguments_if_the_schema_allows_it (R17), for each tool apart.
func TestAgent_asks_for_strict_arguments_if_the_schema_allows_it(t *testing.T) {
	t.Parallel()
	w := script(t, "Done.")
	w.execute(t, `
		n agent {"model": "fake/m", "prompt": "Go."}
		typed http_request {"url": "SHOP/{{id}}"} {"tool": {"description": "Finds.", "params": {"id": {"schema": {"type": "string"}}}}}
		free http_request {"url": "SHOP/{{id}}"} {"tool": {"description": "Finds."}}
		typed.tool -> n.tools
		free.tool -> n.tools`, nil)
	for i, want := range []any{true, nil} {
		if got := value.Get(value.Get(w.tools(t)[i], "function"), "strict"); got != want {
			t.Errorf("tool %d: strict is %v, want %v", i+1, got, want)
		}
	}
}

// TestAgent_limits_the_time_of_each_call (R23): one that takes too long is an error for the model, and disturbs no other.
func TestAgent_limits_the_time_of_each_call(t *testing.T) {
	t.Parallel()
	w := script(t, "stuck {}\nlookup {\"id\": \"1\"}", "Done.")
	w.shop.answer = func(out http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "stuck") {
			<-r.Context().Done()
			return
		}
		_, _ = fmt.Fprint(out, "found ", r.URL.Path)
	}
	r := w.execute(t, `
		n agent {"model": "fake/m", "prompt": "Go."}
		stuck http_request {"url": "SHOP/stuck"} {"timeout_s": 0.1, "tool": {"description": "Never ends."}}
		lookup http_request {"url": "SHOP/orders/{{id}}"} {"tool": {"description": "Finds an order."}}
		stuck.tool -> n.tools
		lookup.tool -> n.tools`, nil)
	results := w.results(t, 2)
	if r.State != flow.StepSucceeded || r.rows["n.1.2"].State != flow.StepSucceeded {
		t.Fatalf("%s %v: %s", r.State, r.Error, r.paths())
	}
	has(t, results[0], "The tool failed (step_timeout)")
	has(t, results[1], "/orders/1")
}
