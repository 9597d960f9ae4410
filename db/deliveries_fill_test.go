package db_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/core"
	"sluice/flow"
)

// sent are the deliveries that fillDeliveries inserted, oldest first.
type sent struct {
	rows  []flow.DeliveryRow
	hosts []string // of the rows
	start time.Time
}

// fillDeliveries inserts n deliveries to thirty endpoints of ten flows. It is
// deterministic.
func fillDeliveries(t testing.TB, s *db.Store, n int) *sent {
	t.Helper()
	f := &sent{start: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)}
	random := rand.New(rand.NewPCG(3, uint64(n)))
	tables := []string{"deliveries", "delivery_attempts", "endpoints"}
	startFresh(t, s, tables...)
	f.endpoints(t, s)
	const chunk = 5000
	for at := 0; at < n; at += chunk {
		f.write(t, s, random, at, min(n, at+chunk), n)
	}
	analyze(t, s, tables...)
	return f
}

// startFresh gives the tables of a PostgreSQL database new, empty files. Test databases are used
// again: if the rows of an earlier test were vacuumed while new ones are written, these would fill
// the gaps in any order, and the planner would rightly avoid indexes to read them in order.
func startFresh(t testing.TB, s *db.Store, tables ...string) {
	t.Helper()
	execPostgres(t, s, "TRUNCATE "+strings.Join(tables, ", "))
}

// analyze updates the statistics of the planner of PostgreSQL.
func analyze(t testing.TB, s *db.Store, tables ...string) {
	t.Helper()
	execPostgres(t, s, "ANALYZE "+strings.Join(tables, ", "))
}

func execPostgres(t testing.TB, s *db.Store, statement string) {
	t.Helper()
	if !s.IsPostgres() {
		return
	}
	if _, err := db.Pool(s).Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func (f *sent) exec(t testing.TB, s *db.Store, text string, args ...any) {
	t.Helper()
	err := s.Write(t.Context(), false, func(tx *core.Tx) error {
		_, err := tx.DBTX.ExecContext(t.Context(), text, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The last of the thirty endpoints belongs to another workspace.
func (f *sent) endpoints(t testing.TB, s *db.Store) {
	t.Helper()
	for i := range 30 {
		f.exec(t, s, fmt.Sprintf("INSERT INTO endpoints (id, workspace_id, flow_id, node, host, failing_since, created_at) VALUES ('end_%02d', '%s', 'flow_%02d', 'hook', 'h%d.test', 0, 1)",
			i, f.workspace(i), i%10, i%7))
	}
}

func (f *sent) workspace(endpoint int) string {
	if endpoint == 29 {
		return otherWS
	}
	return ws
}

func (f *sent) write(t testing.TB, s *db.Store, random *rand.Rand, from, until, n int) {
	t.Helper()
	var rows, attempts bytes.Buffer
	rows.WriteString("INSERT INTO deliveries (id, position, workspace_id, flow_id, run_id, node, endpoint_id, url, header, secret, signature, state, attempt, tries, fence, created_at, due_at, next_at, ended_at, erased, body) VALUES ")
	attempts.WriteString("INSERT INTO delivery_attempts (delivery_id, number, workspace_id, started_at, latency, status, error, response) VALUES ")
	for i := from; i < until; i++ {
		at := f.start.Add(30 * 24 * time.Hour / time.Duration(n) * time.Duration(i)).Truncate(time.Millisecond)
		ids := flow.IDs{Now: func() time.Time { return at }, Random: randomBytes{random}}
		e := min(random.IntN(30), random.IntN(30))
		r := flow.DeliveryRow{
			ID: flow.DeliveryID("run_x", "hook", i), Position: ids.New(flow.PrefixDelivery), FlowID: flow.FlowID(fmt.Sprintf("flow_%02d", e%10)), EndpointID: fmt.Sprintf("end_%02d", e), Node: "hook",
			URL: fmt.Sprintf("https://h%d.test/in/%d", e%7, i%5), State: flow.DeliveryDelivered, CreatedAt: at, RunID: "run_x",
		}
		switch p := random.IntN(1000); {
		case p < 5 && e > 0:
			r.State = flow.DeliveryFailed
		case p < 6:
			r.State = flow.DeliveryPending
		}
		ended := at.UnixMicro()
		if r.State == flow.DeliveryPending {
			ended = 0
		}
		fmt.Fprintf(&rows, "%s('%s', '%s', '%s', '%s', 'run_x', 'hook', '%s', '%s', '', '', '', '%s', 1, 1, 1, %d, 0, %d, %d, '', '{\"answer\":\"It comes on Tuesday.\"}')",
			comma(i-from), r.ID, r.Position, f.workspace(e), r.FlowID, r.EndpointID, r.URL, r.State, at.UnixMicro(), at.UnixMicro(), ended)
		fmt.Fprintf(&attempts, "%s('%s', 1, '%s', %d, 12000, 200, '', 'ok')", comma(i-from), r.ID, f.workspace(e), at.UnixMicro())
		f.rows, f.hosts = append(f.rows, r), append(f.hosts, fmt.Sprintf("h%d.test", e%7))
	}
	f.exec(t, s, rows.String())
	f.exec(t, s, attempts.String())
}
