package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/e2e/need"
)

// lastColumns are the columns of a report as CSV that differ each time: time and ID of the run.
var lastColumns = regexp.MustCompile(`(?m),[0-9]+,[^,\n]*,run_[0-9a-z]{26}\r?$`)

// plainRows returns a report as CSV without what differs each time.
func plainRows(csv string) string { return lastColumns.ReplaceAllString(csv, "") }

// testedCases is how many cases TestCrashTests_report_every_case_once runs; with more than 10 rounds it is five times as many.
const testedCases = 200

// TestCrashTests_report_every_case_once kills three instances while they test a flow: the report has every case, no recorded result is asked for
// again, and a replay afterwards says the same without a call.
func TestCrashTests_report_every_case_once(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	source := random(t)
	f := newFleet(t, fleetConfig{})
	var mu sync.Mutex
	asked := map[string]int{}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Query().Get("word")]++
		mu.Unlock()
		fmt.Fprintf(w, "about %s", r.URL.Query().Get("word"))
	}))
	t.Cleanup(service.Close)
	s := f.servers[0]
	id := s.publish(documentOf("Looked up", []object{input("word"), node("get", "http_request", object{"method": "GET", "url": service.URL + "/?word={{word}}"}), output("answer")},
		"word.value > get.word", "get.body > out_answer.value"))
	c := s.client(s.key("--scope", "run,read,edit,manage"))
	n, kills := testedCases, max(10, *rounds)
	if *rounds > 10 {
		n *= 5
	}
	for i := range n {
		c.want(200, "PUT", fmt.Sprintf("/v1/flow/%s/cases/case-%04d", id, i), object{"inputs": object{"word": fmt.Sprint(i)}, "checks": []object{{"output": "answer", "equals": fmt.Sprintf("about %d", i)}}})
	}
	const concurrency = 8
	run := func(mode string) (path string) {
		return "/v1/flow/" + id + "/tests/" + c.want(202, "POST", "/v1/flow/"+id+"/tests", object{"mode": mode, "concurrency": concurrency}).object(t)["id"].(string)
	}
	path := run("fill")
	for range kills {
		time.Sleep(time.Duration(200+source.IntN(1000)) * time.Millisecond) // the random moment itself
		one := f.servers[source.IntN(len(f.servers))]
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
	if got := strings.Count(report, ",passed,1,1,1,"); got != n || strings.Count(report, "\n") != n+1 {
		t.Errorf("%d of %d cases pass:\n%.2000s", got, n, report)
	}
	mu.Lock()
	total := 0
	for _, times := range asked {
		total += times
	}
	mu.Unlock()
	if len(asked) != n || total > n+kills*concurrency {
		t.Errorf("%d of %d words were asked for, %d times with %d kills", len(asked), n, total, kills)
	}
	again := run("replay")
	ended(again)
	mu.Lock()
	defer mu.Unlock()
	now := 0
	for _, times := range asked {
		now += times
	}
	if now != total {
		t.Errorf("the replay made %d calls", now-total)
	}
	if undisturbed := string(c.want(200, "GET", again+"?format=csv", nil).body); plainRows(undisturbed) != plainRows(report) {
		t.Errorf("without kills, the report is another one:\n%.2000s\n%.2000s", report, undisturbed)
	}
	t.Logf("%d cases, %d kills, %d calls", n, kills, total)
}
