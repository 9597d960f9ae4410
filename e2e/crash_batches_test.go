package e2e

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/e2e/need"
)

// batchRows is how many rows TestCrashBatches_lose_and_repeat_no_row runs; with more than 10 rounds it runs soakRows.
const batchRows, soakRows = 300, 100_000

// batchSize returns the number of rows.
func batchSize() int {
	if *rounds > 10 {
		return soakRows
	}
	return batchRows
}

// TestCrashBatches_lose_and_repeat_no_row kills servers while a batch runs: no row is lost, none has two runs, and the results are in the order of the rows.
func TestCrashBatches_lose_and_repeat_no_row(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	for _, on := range []string{"SQLite", "PostgreSQL"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			source := random(t)
			if on == "PostgreSQL" {
				f := newFleet(t, fleetConfig{})
				crashBatch(t, f.servers, source)
				return
			}
			s := newServer(t)
			s.faulty = true
			crashBatch(t, []*server{s}, source)
		})
	}
}

func crashBatch(t *testing.T, servers []*server, source *rand.Rand) {
	ledger := newLedger(t)
	ledger.anyDoubt = true // what was in flight when a server was killed may be called again
	s := servers[0]
	id := s.publish(documentOf("Row", []object{input("n"), post("a", ledger.URL), node("say", "template", object{"template": "{{n}} {{key}}"}), output("got")},
		"n.value > a.n", "n.value > say.n", "a.body > say.key", "say.text > out_got.value"))
	c := s.client(s.key())
	rows := make([]object, batchSize())
	for i := range rows {
		rows[i] = object{"n": fmt.Sprint(i)}
	}
	a := c.want(202, "POST", "/v1/flow/"+id+"/batches", object{"rows": rows, "concurrency": 8})
	batch := fmt.Sprint(a.object(t)["run"].(map[string]any)["run_id"])
	path := "/v1/flow/" + id + "/batches/" + batch
	kills := max(10, *rounds)
	for range kills {
		time.Sleep(time.Duration(200+source.IntN(1300)) * time.Millisecond) // the random moment itself
		one := servers[source.IntN(len(servers))]
		one.kill()
		one.start()
	}
	for done, ended := 0.0, false; !ended; {
		waitUntil(t, "further rows have ended", func() bool {
			a, err := c.try("GET", path, nil)
			if err != nil || a.status != 200 {
				return false
			}
			was, batch := done, a.object(t)
			done, ended = batch["rows"].(map[string]any)["succeeded"].(float64), batch["run"].(map[string]any)["status"] == "succeeded"
			return done > was || ended
		})
	}
	list, err := csv.NewReader(strings.NewReader(string(c.want(200, "GET", path+"/results?format=csv", nil).body))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != len(rows)+1 {
		t.Fatalf("%d rows of results for %d rows", len(list)-1, len(rows))
	}
	column := func(name string) int { return slices.Index(list[0], name) }
	runs, wrong := map[string]bool{}, []string{}
	for i, r := range list[1:] {
		runID := r[column("_run_id")]
		if want := fmt.Sprintf(`%d {"key":"%s:a"}`, i, runID); r[column("n")] != fmt.Sprint(i) || r[column("_status")] != "succeeded" || r[column("got")] != want || runs[runID] {
			wrong = append(wrong, fmt.Sprintf("row %d is %q, want %s", i, r, want))
		}
		runs[runID] = true
	}
	reportSome(t, wrong)
	ledger.mu.Lock()
	defer ledger.mu.Unlock()
	if len(ledger.calls) != len(rows) {
		t.Errorf("%d runs called the service for %d rows", len(ledger.calls), len(rows))
	}
	t.Logf("%d rows, %d kills, %d calls", len(rows), kills, ledger.total)
}
