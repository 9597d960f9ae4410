package e2e

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/e2e/need"
	"sluice/providers/scripted"
)

// lastColumns are the columns of a report as CSV that differ each time: time and ID of the run.
var lastColumns = regexp.MustCompile(`(?m),[0-9]+,[^,\n]*,run_[0-9a-z]{26}\r?$`)

// plainRows returns a report as CSV without what differs each time.
func plainRows(csv string) string { return lastColumns.ReplaceAllString(csv, "") }

// TestCrashTests_judge_every_run_once kills a server in the middle of a test of 100 runs.
func TestCrashTests_judge_every_run_once(t *testing.T) {
	t.Parallel()
	need.Time(t)
	s := newServer(t)
	s.faulty = true
	crashTests(t, []*server{s}, 10, 3)
}

// TestCrashTests_judge_every_run_of_many_once kills servers in the middle of a test of 1,000 runs.
func TestCrashTests_judge_every_run_of_many_once(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		s := newServer(t)
		s.faulty = true
		crashTests(t, []*server{s}, 100, max(10, *rounds))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		crashTests(t, newFleet(t, fleetConfig{}).servers, 100, max(10, *rounds))
	})
}

// countingModel is a model that says "about" and the prompt, and counts the calls by prompt.
type countingModel struct {
	*httptest.Server
	mu    sync.Mutex
	calls map[string]int
}

func newCountingModel(t *testing.T) *countingModel {
	m := &countingModel{calls: map[string]int{}}
	m.Server = httptest.NewServer(scripted.New(func(r *scripted.Request) scripted.Answer {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.calls[r.User]++
		return scripted.Answer{Text: "about " + r.User, Input: 1000, Output: 1}
	}))
	t.Cleanup(m.Close)
	return m
}

// total returns how many calls there were.
func (m *countingModel) total() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, times := range m.calls {
		n += times
	}
	return n
}

// crashTests tests a flow with a paid model, runs each case ten times, and kills servers at random moments in between: each run has one verdict, and
// only what was in progress when a server was killed is called again. A replay afterwards says the same without a call.
func crashTests(t *testing.T, servers []*server, cases, kills int) {
	const repeat, concurrency = 10, 8
	source, model, s := random(t), newCountingModel(t), servers[0]
	if r := s.commandWith("sk-test", "credential", "add", "--name", "fake", "--provider", "openai_compatible", "--base-url", model.URL+"/v1"); r.code != 0 {
		t.Fatal(r.errs)
	}
	s.must("price", "set", "fake/m", "--input", "100", "--output", "0") // 0.1 USD a call
	id := s.publish(documentOf("Told", []object{input("word"), node("tell", "chat", object{"model": "fake/m", "prompt": "{{word}}"}), output("answer")},
		"word.value > tell.word", "tell.text > out_answer.value"))
	c := s.client(s.key("--scope", "run,read,edit,manage"))
	list := make([]object, cases)
	for i := range list {
		list[i] = object{"id": fmt.Sprintf("case-%04d", i), "repeat": repeat, "inputs": object{"word": fmt.Sprint(i)}, "checks": []object{{"output": "answer", "equals": fmt.Sprintf("about %d", i)}}}
	}
	file := "/v1/flow/" + id + "/companions/tests"
	c.want(200, "PUT", file, object{"schema": "sluice.tests/v1", "cases": list}, "If-Match: "+c.want(200, "GET", file, nil).header.Get("ETag"))
	start := func(mode string) (path string) {
		return "/v1/flow/" + id + "/tests/" + c.want(202, "POST", "/v1/flow/"+id+"/tests", object{"mode": mode, "concurrency": concurrency}).object(t)["id"].(string)
	}
	runs := cases * repeat
	path := start("fill")
	for _, after := range moments(source, kills, runs) {
		waitUntil(t, "so many calls were made", func() bool { return model.total() >= after })
		one := servers[source.IntN(len(servers))]
		one.kill()
		one.start()
	}
	ended := func(path string) {
		t.Helper()
		waitUntil(t, "the test has ended", func() bool {
			a, err := c.try("GET", path, nil)
			return err == nil && a.status == 200 && a.object(t)["status"] == "succeeded"
		})
	}
	ended(path)
	report := string(c.want(200, "GET", path+"?format=csv", nil).body)
	rows, err := csv.NewReader(strings.NewReader(report)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != cases+1 {
		t.Fatalf("the report has %d of %d cases", len(rows)-1, cases)
	}
	at := func(name string) int { return slices.Index(rows[0], name) }
	var wrong []string
	for i, r := range rows[1:] {
		if want := fmt.Sprint(repeat); r[at("case")] != fmt.Sprintf("case-%04d", i) || r[at("state")] != "passed" || r[at("passes")] != want || r[at("runs")] != want {
			wrong = append(wrong, fmt.Sprintf("case %d is %q", i, r))
		}
	}
	reportSome(t, wrong)
	one := verdictsOf(t, c, path, "case-0001")
	if len(one) != repeat {
		t.Errorf("the case has %d verdicts, wanted %d", len(one), repeat)
	}
	calls := model.total()
	if len(model.calls) != cases || calls < runs || calls > runs+kills*concurrency {
		t.Errorf("the model was asked %d times about %d of %d words, with %d kills", calls, len(model.calls), cases, kills)
	}
	for word, n := range model.calls {
		if n < repeat {
			t.Errorf("the model was asked %d times about %s", n, word)
		}
	}
	again := start("replay")
	ended(again)
	if now := model.total(); now != calls {
		t.Errorf("the replay made %d calls", now-calls)
	}
	if undisturbed := string(c.want(200, "GET", again+"?format=csv", nil).body); plainRows(undisturbed) != plainRows(report) {
		t.Errorf("without kills, the report is another one:\n%.2000s\n%.2000s", report, undisturbed)
	}
	t.Logf("%d runs, %d kills, %d calls", runs, kills, calls)
}

// moments returns after how many of the calls each kill happens: random, and in order.
func moments(source *rand.Rand, kills, calls int) []int {
	list := make([]int, kills)
	for i := range list {
		list[i] = 1 + source.IntN(calls*9/10)
	}
	slices.Sort(list)
	return list
}

// verdictsOf returns the IDs of the runs that a report has verdicts on, for a case. It fails for a run with two.
func verdictsOf(t *testing.T, c *client, path, id string) map[string]bool {
	t.Helper()
	var report struct {
		Verdicts []struct {
			RunID string `json:"run_id"`
		}
	}
	if err := json.Unmarshal(c.want(200, "GET", path+"?case="+id, nil).body, &report); err != nil {
		t.Fatal(err)
	}
	runs := map[string]bool{}
	for _, v := range report.Verdicts {
		if runs[v.RunID] {
			t.Errorf("the run %s has two verdicts", v.RunID)
		}
		runs[v.RunID] = true
	}
	return runs
}
