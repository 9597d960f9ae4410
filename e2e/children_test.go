package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// itemServer answers each item with its double, and counts the requests for it. Items in
// broken are answered with an error.
type itemServer struct {
	*httptest.Server
	mu     sync.Mutex
	calls  map[string]int
	broken map[string]bool
	hold   chan struct{} // requests wait until it is closed; nil: they do not
	held   string        // the only item whose requests wait; "": all
	cut    int           // requests that the client aborted while they waited
}

func newItemServer(t *testing.T, broken ...int) *itemServer {
	up := &itemServer{calls: map[string]int{}, broken: map[string]bool{}}
	for _, n := range broken {
		up.broken[strconv.Itoa(n)] = true
	}
	up.Server = httptest.NewServer(http.HandlerFunc(up.serve))
	t.Cleanup(up.Close)
	return up
}

func (up *itemServer) serve(w http.ResponseWriter, r *http.Request) {
	var body struct{ N string }
	data, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(data, &body) != nil {
		return // the server was killed in the middle of it
	}
	up.mu.Lock()
	up.calls[body.N]++
	broken, hold := up.broken[body.N], up.hold
	if up.held != "" && up.held != body.N {
		hold = nil
	}
	up.mu.Unlock()
	if hold != nil {
		if !broken {
			w.(http.Flusher).Flush() // an answer that has begun is not ended for its slowness
		}
		select {
		case <-hold:
		case <-r.Context().Done():
			up.set(func() { up.cut++ })
		}
	}
	if broken {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	n, _ := strconv.Atoi(body.N)
	fmt.Fprint(w, 2*n)
}

// total returns the number of requests.
func (up *itemServer) total() (n int) {
	up.mu.Lock()
	defer up.mu.Unlock()
	for _, calls := range up.calls {
		n += calls
	}
	return n
}

func (up *itemServer) set(change func()) {
	up.mu.Lock()
	defer up.mu.Unlock()
	change()
}

// doubling returns a flow that requests the double of n from a server.
func doubling(url string) []byte {
	return documentOf("Double", []object{input("n"), post("call", url), output("double")}, "n.value > call.n", "call.body > out_double.value")
}

// doublingContract is the contract of the flow doubling that nodes store.
var doublingContract = object{"inputs": []object{{"name": "n", "type": "text", "required": true}}, "outputs": []object{{"name": "double", "type": "any"}}}

// mapping returns a flow that maps a list through another flow.
func mapping(child string, settings object) []byte {
	config := object{"flow": child, "over": []string{"n"}, "concurrency": 20, "on_item_error": "keep", "contract": doublingContract}
	for name, value := range settings {
		config[name] = value
	}
	return documentOf("Map", []object{
		node("list", "input", object{"name": "list", "type": "list"}), node("each", "map", config),
		output("doubles"), output("errors"), output("succeeded"), output("failed"),
	}, "list.value > each.input.n", "each.double > out_doubles.value", "each.errors > out_errors.value", "each.succeeded > out_succeeded.value", "each.failed > out_failed.value")
}

func numbers(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = strconv.Itoa(i)
	}
	return list
}

// checkDoubles compares the list of results, in which the broken items are null.
func checkDoubles(t *testing.T, got any, n int, broken map[string]bool) {
	t.Helper()
	list, _ := got.([]any)
	if len(list) != n {
		t.Fatalf("got %d results, wanted %d", len(list), n)
	}
	for i, v := range list {
		want := strconv.Itoa(2 * i)
		if broken[strconv.Itoa(i)] {
			want = "<nil>"
		}
		if fmt.Sprint(v) != want {
			t.Errorf("item %d: got %v, wanted %v", i, v, want)
		}
	}
}

// TestMap maps 500 items and kills the server in the middle. 7 items fail, and a rerun
// asks only for those 7.
func TestMap(t *testing.T) {
	t.Parallel()
	broken := []int{0, 13, 99, 250, 251, 400, 499}
	up := newItemServer(t, broken...)
	s := newServer(t)
	child := s.publish(doubling(up.URL))
	id := s.publish(mapping(child, nil))
	c := s.client(s.key("--concurrency", "1")) // children do not count against it
	r := c.start(id, object{"list": numbers(500)})
	s.waitUntil("half of the items were asked for", func() bool { return up.total() > 200 })
	s.kill()
	s.start()
	end := c.await(r)
	if end.Status != "succeeded" || end.Outputs["succeeded"] != 493.0 || end.Outputs["failed"] != 7.0 {
		t.Fatalf("the run is %s: %+v, outputs succeeded %v, failed %v", end.Status, end.Error, end.Outputs["succeeded"], end.Outputs["failed"])
	}
	checkDoubles(t, end.Outputs["doubles"], 500, up.broken)
	if shown := fmt.Sprint(stepNamed(t, c, r, "each")["input"]); !strings.Contains(shown, "input.n:map[items:500]") {
		t.Errorf("the step shows its input as %.200s", shown)
	}
	checkFailures(t, end.Outputs["errors"], broken)
	var failed struct {
		Steps    []object
		Children []object
	}
	if err := json.Unmarshal(c.want(200, "GET", r.path()+"/children?status=failed", nil).body, &failed); err != nil || len(failed.Children) != 7 || len(failed.Steps) != 1 {
		t.Fatalf("failed items are %+v, %v", failed, err)
	}
	first := failed.Children[0]
	one := c.want(200, "GET", runPath(child, first["run_id"].(string)), nil).object(t)
	if caller, _ := one["caller"].(object); caller["run_id"] != r.ID || caller["item"] != 0.0 || one["root_run_id"] != r.ID || one["trigger"] != "flow" {
		t.Errorf("the child is %v", one)
	}
	var runs struct{ Runs []object }
	if err := json.Unmarshal(c.want(200, "GET", "/v1/flow/"+child+"/runs", nil).body, &runs); err != nil || len(runs.Runs) != 0 {
		t.Errorf("the list of runs has %d child runs, %v", len(runs.Runs), err)
	}
	up.set(func() { up.broken, up.calls = map[string]bool{}, map[string]int{} })
	again := c.await(c.want(202, "POST", r.path()+"/rerun", object{"skip_failed": true}).run(t))
	if n := up.total(); n != 0 || again.Outputs["failed"] != 7.0 {
		t.Errorf("the rerun without the failed items made %d calls; %v failed", n, again.Outputs["failed"])
	}
	again = c.await(c.want(202, "POST", r.path()+"/rerun", object{"from": "each"}).run(t))
	checkDoubles(t, again.Outputs["doubles"], 500, nil)
	if n := up.total(); n != 7 {
		t.Errorf("the rerun from the map made %d calls, wanted 7", n)
	}
	up.set(func() { up.calls = map[string]int{} })
	again = c.await(c.want(202, "POST", r.path()+"/rerun", nil).run(t))
	checkDoubles(t, again.Outputs["doubles"], 500, nil)
	if n := up.total(); n != 7 || again.Outputs["failed"] != 0.0 {
		t.Errorf("the rerun made %d calls, wanted 7; %v failed", n, again.Outputs["failed"])
	}
	var reused struct{ Children []object }
	if err := json.Unmarshal(c.want(200, "GET", again.path()+"/children?limit=20", nil).body, &reused); err != nil || len(reused.Children) != 20 {
		t.Fatalf("items of the rerun: %+v, %v", reused, err)
	}
	for i, item := range reused.Children {
		if item["reused"] != !slices.Contains(broken, i) {
			t.Errorf("item %d of the rerun: %v", i, item)
		}
	}
	// Children are erased with the run that started them.
	m, path := s.client(s.key("--scope", "manage", "--scope", "read")), runPath(child, first["run_id"].(string))
	m.rejected(409, "child_run", "DELETE", path, nil)
	m.want(204, "DELETE", r.path(), nil)
	s.waitUntil("the child is erased", func() bool { return c.do("GET", path+"/result", nil).status == 410 })
}

// TestMap_cancels_items_after_failure cancels the other items after one has failed.
func TestMap_cancels_items_after_failure(t *testing.T) {
	t.Parallel()
	up := newItemServer(t, 3)
	s := newServer(t)
	id := s.publish(mapping(s.publish(doubling(up.URL)), object{"on_item_error": "fail", "concurrency": 2}))
	c := s.client(s.key())
	end := c.await(c.start(id, object{"list": numbers(100)}))
	if end.Status != "failed" || end.Error.Code != "child_failed" || up.total() > 10 {
		t.Errorf("the run is %s: %+v after %d calls", end.Status, end.Error, up.total())
	}
}

// TestMap_cancel_ends_child_runs cancels a run and checks that its child runs are canceled too, before
// it ends. With a single worker, a caller that kept its worker meanwhile would wait
// forever.
func TestMap_cancel_ends_child_runs(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{8, 1} {
		t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) {
			t.Parallel()
			testMapCancel(t, workers)
		})
	}
}

func testMapCancel(t *testing.T, workers int) {
	up := newItemServer(t)
	up.hold = make(chan struct{})
	s := newServer(t, fmt.Sprintf("SLUICE_WORKERS=%d", workers))
	child := s.publish(doubling(up.URL))
	middle := s.publish(documentOf("Middle", []object{
		input("n"), node("sub", "subflow", object{"flow": child, "contract": doublingContract}), output("double"),
	}, "n.value > sub.input.n", "sub.double > out_double.value"))
	c := s.client(s.key())
	r := c.start(s.publish(mapping(middle, object{"concurrency": 5})), object{"list": numbers(50)})
	asked := min(workers, 5)
	s.waitUntil("items are asked for", func() bool { return up.total() == asked })
	c.want(200, "POST", r.path()+"/cancel", nil)
	end := c.await(r)
	s.waitUntil("the requests are aborted", func() bool { up.mu.Lock(); defer up.mu.Unlock(); return up.cut == asked })
	if end.Status != "canceled" || up.total() != asked {
		t.Errorf("the run is %s after %d calls", end.Status, up.total())
	}
	ended := fmt.Sprint(c.want(200, "GET", r.path(), nil).object(t)["ended_at"])
	var page struct{ Children []object }
	if err := json.Unmarshal(c.want(200, "GET", r.path()+"/children?limit=100", nil).body, &page); err != nil || len(page.Children) == 0 {
		t.Fatalf("the children are %+v, %v", page, err)
	}
	for _, item := range page.Children {
		run := c.want(200, "GET", runPath(middle, fmt.Sprint(item["run_id"])), nil).object(t)
		if run["status"] != "canceled" || fmt.Sprint(run["ended_at"]) > ended {
			t.Errorf("item %v is %v at %v; its caller ended at %s", item["item"], run["status"], run["ended_at"], ended)
		}
	}
	close(up.hold)
}

// TestMap_empty_and_invalid_lists gives lists without items, with one that has no valid inputs, and lists of
// unequal length.
func TestMap_empty_and_invalid_lists(t *testing.T) {
	t.Parallel()
	up := newItemServer(t)
	s := newServer(t)
	child := s.publish(doubling(up.URL))
	id := s.publish(mapping(child, nil))
	c := s.client(s.key())
	if end := c.succeed(id, object{"list": []any{}}); end.Outputs["succeeded"] != 0.0 {
		t.Errorf("without items: %v", end.Outputs)
	}
	end := c.succeed(id, object{"list": []any{"1", object{"a": 1}, nil, "2"}})
	if end.Outputs["succeeded"] != 3.0 && end.Outputs["failed"] != 1.0 && end.Outputs["failed"] != 2.0 {
		t.Errorf("with wrong items: %v", end.Outputs)
	}
	file := s.publish(documentOf("To a file", []object{
		node("list", "input", object{"name": "list", "type": "list"}),
		node("each", "map", object{"flow": "double", "over": []string{"n"}, "results": "file", "concurrency": 2}), output("file"), output("n"),
	}, "list.value > each.input.n", "each.file > out_file.value", "each.succeeded > out_n.value"))
	if end := c.succeed(file, object{"list": numbers(20)}); end.Outputs["n"] != 20.0 || end.Outputs["file"].(object)["file"] == nil {
		t.Errorf("to a file: %v", end.Outputs)
	}
}

// TestSubflow runs a flow within a flow within a flow.
func TestSubflow(t *testing.T) {
	t.Parallel()
	up := newItemServer(t, 7)
	s := newServer(t, "SLUICE_WORKERS=1") // a step that waits for a child holds no worker
	child := s.publish(doubling(up.URL))
	calling := func(name, flowID string) string {
		return s.publish(documentOf(name, []object{
			input("n"), node("sub", "subflow", object{"flow": flowID, "contract": doublingContract}), output("double"),
		}, "n.value > sub.input.n", "sub.double > out_double.value"))
	}
	middle := calling("Middle", child)
	top := calling("Top", middle)
	c := s.client(s.key())
	if end := c.succeed(top, object{"n": "21"}); fmt.Sprint(end.Outputs["double"]) != "42" {
		t.Errorf("got %v", end.Outputs)
	}
	// A chat client waits for the flows below, although the run is waiting meanwhile.
	up.set(func() { up.hold = make(chan struct{}) })
	answered := make(chan *response, 1)
	go func() {
		answer, _ := c.try("POST", "/v1/chat/completions", object{"model": "top", "messages": []object{{"role": "user", "content": "4"}}})
		answered <- answer
	}()
	s.waitUntil("the run waits", func() bool {
		return strings.Contains(string(c.do("GET", "/v1/flow/"+top+"/runs?status=waiting", nil).body), "run_id")
	})
	s.waitUntil("the item is asked for", func() bool { return up.total() == 2 })
	close(up.hold)
	if answer := <-answered; answer == nil || answer.status != 200 || !strings.Contains(string(answer.body), `"content":"8"`) {
		t.Errorf("a chat client got %+v", answer)
	}
	if end := c.await(c.start(top, object{"n": "7"})); end.Status != "failed" || end.Error.Code != "child_failed" || end.Error.Node != "sub" {
		t.Errorf("a failing child: %s, %+v", end.Status, end.Error)
	}
}

// TestMap_survives_lost_instance maps over 500 items on three instances and kills one of them. 7 items
// fail, and a rerun of the run requests only those 7 again.
func TestMap_survives_lost_instance(t *testing.T) {
	t.Parallel()
	broken := []int{0, 13, 99, 250, 251, 400, 499}
	up := newItemServer(t, broken...)
	f := newFleet(t, fleetConfig{})
	s := f.servers[0]
	id := s.publish(mapping(s.publish(doubling(up.URL)), nil))
	c := s.client(s.key())
	r := c.start(id, object{"list": numbers(500)})
	s.waitUntil("a third of the items were asked for", func() bool { return up.total() > 170 })
	f.servers[2].kill()
	end := c.await(r)
	if end.Status != "succeeded" || end.Outputs["succeeded"] != 493.0 || end.Outputs["failed"] != 7.0 {
		t.Fatalf("the run is %s: %+v, %v", end.Status, end.Error, end.Outputs["failed"])
	}
	checkDoubles(t, end.Outputs["doubles"], 500, up.broken)
	checkFailures(t, end.Outputs["errors"], broken)
	up.set(func() { up.broken, up.calls = map[string]bool{}, map[string]int{} })
	again := c.await(c.want(202, "POST", r.path()+"/rerun", nil).run(t))
	checkDoubles(t, again.Outputs["doubles"], 500, nil)
	if n := up.total(); n != 7 || again.Outputs["failed"] != 0.0 {
		t.Errorf("the rerun made %d calls, wanted 7; %v failed", n, again.Outputs["failed"])
	}
}

// checkFailures compares the list of errors with the indexes of the items that fail, in
// their order.
func checkFailures(t *testing.T, got any, broken []int) {
	t.Helper()
	list, _ := got.([]any)
	if len(list) != len(broken) {
		t.Errorf("there are %d errors, wanted %d", len(list), len(broken))
	}
	for i, f := range list {
		e, _ := f.(object)
		input, _ := e["input"].(object)
		if i < len(broken) && (e["index"] != float64(broken[i]) || e["code"] != "http_failed" || input["n"] != strconv.Itoa(broken[i])) {
			t.Errorf("error %d is %v", i, e)
		}
	}
}

// TestMap_approvals_survive_crash asks a person for every item at once. The items wait over a kill.
func TestMap_approvals_survive_crash(t *testing.T) {
	t.Parallel()
	s := newServer(t, "SLUICE_WORKERS=2")
	ask := s.publish(approving("", nil))
	id := s.publish(documentOf("Ask for each", []object{
		node("list", "input", object{"name": "list", "type": "list"}),
		node("each", "map", object{"flow": ask, "over": []string{"draft"}, "concurrency": 20, "contract": object{
			"inputs": []object{{"name": "draft", "type": "text", "required": true}}, "outputs": []object{{"name": "sent", "type": "any"}},
		}}),
		output("sent"),
	}, "list.value > each.input.draft", "each.sent > out_sent.value"))
	c, approver := s.client(s.key()), s.client(s.key("--scope", "approve"))
	r := c.start(id, object{"list": numbers(20)})
	waiting := func() (runs []string) {
		var page struct {
			Children []struct {
				RunID string `json:"run_id"`
			}
		}
		if err := json.Unmarshal(c.want(200, "GET", r.path()+"/children?limit=100&status=waiting", nil).body, &page); err != nil {
			t.Fatal(err)
		}
		for _, child := range page.Children {
			runs = append(runs, child.RunID)
		}
		return runs
	}
	s.waitUntil("all items wait", func() bool { return len(waiting()) == 20 })
	if now := c.want(200, "GET", r.path(), nil).object(t); now["waiting_for"] != "children" {
		t.Errorf("the run waits for %v", now["waiting_for"])
	}
	if child := c.want(200, "GET", runPath(ask, waiting()[0]), nil).object(t); child["waiting_for"] != "approval" {
		t.Errorf("an item waits for %v", child["waiting_for"])
	}
	s.kill()
	s.start()
	for _, run := range waiting() {
		approver.want(200, "POST", runPath(ask, run)+"/approvals/ask", object{"decision": "approved"})
	}
	if end := c.await(r); end.Status != "succeeded" || fmt.Sprint(end.Outputs["sent"]) != fmt.Sprint(numbers(20)) {
		t.Errorf("the run is %s with %v", end.Status, end.Outputs["sent"])
	}
}

// TestApply_adds_contracts_of_run_flows applies a flow that runs another one, without the contract
// that the builder would store: the ports follow from the other flow, in the same set of
// documents or on the server.
func TestApply_adds_contracts_of_run_flows(t *testing.T) {
	t.Parallel()
	up := newItemServer(t)
	s := newServer(t)
	c := s.client(s.key("--scope", "edit", "--scope", "run", "--scope", "read"))
	child, parent := json.RawMessage(doubling(up.URL)), json.RawMessage(mapping("double", object{"contract": nil}))
	set := object{"documents": []any{parent, child}, "publish": true}
	c.want(200, "POST", "/v1/apply", set)
	if end := c.await(c.start("map", object{"list": numbers(3)})); end.Status != "succeeded" || end.Outputs["succeeded"] != 3.0 {
		t.Errorf("the run is %s: %+v", end.Status, end.Error)
	}
	if again := string(c.want(200, "POST", "/v1/apply", set).body); strings.Count(again, `"unchanged"`) != 2 {
		t.Errorf("applied again: %s", again)
	}
	wrong := []byte(strings.Replace(string(parent), "each.double", "each.triple", 1))
	if r := c.want(422, "POST", "/v1/apply", object{"documents": []any{json.RawMessage(wrong)}}); !strings.Contains(string(r.body), "triple") {
		t.Errorf("an output that the other flow does not have: %s", r.body)
	}
	if r := c.want(200, "POST", "/v1/flow/validate", parent); !strings.Contains(string(r.body), `"valid":true`) {
		t.Errorf("a flow of the server: %s", r.body)
	}
}

// TestEvents_count_child_runs counts the items of a map in the event stream while they run.
func TestEvents_count_child_runs(t *testing.T) {
	t.Parallel()
	up := newItemServer(t, 3)
	up.hold, up.held = make(chan struct{}), "29"
	s := newServer(t)
	c := s.client(s.key())
	r := c.start(s.publish(mapping(s.publish(doubling(up.URL)), nil)), object{"list": numbers(30)})
	const last = `{"path":"each","done":29,"failed":1,"total":30}`
	seen := 0
	for _, e := range c.eventsUntil(r, 0, func(e event) bool { return e.data == last }) {
		if e.name != "progress" {
			continue
		}
		if seen++; e.id != 0 || !strings.Contains(e.data, `"total":30`) {
			t.Errorf("the event %+v", e)
		}
	}
	if seen == 0 {
		t.Fatal("there was no progress event")
	}
	up.set(func() { close(up.hold); up.hold = nil })
	if end := c.await(r); end.Status != "succeeded" {
		t.Errorf("the run is %s: %+v", end.Status, end.Error)
	}
}
