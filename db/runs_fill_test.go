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

// filled are the runs that fillRuns inserted.
type filled struct {
	rows  []flow.Run // the oldest first
	flows []flow.FlowID
	start time.Time
	end   time.Time
}

// Rare values in the filled store, which are hard to find.
const (
	oldKey    = "key_old"  // had a few runs at the very beginning
	calmFlow  = "flow_00"  // never fails, and has the most runs
	otherWS   = "ws_other" // has one run in a thousand
	rareWord  = "Zanzibar" // is in the inputs of the oldest run
	fewOfMany = 3          // so many runs wait, and came by form
	fillSpan  = 30 * 24 * time.Hour
)

// fillRuns writes n runs of forty flows, each with versions that follow one
// another, started over thirty days with a dozen keys. The same n gives the
// same runs.
func fillRuns(t testing.TB, s *db.Store, n int) *filled {
	t.Helper()
	f := &filled{start: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)}
	f.end = f.start.Add(fillSpan)
	random := rand.New(rand.NewPCG(7, uint64(n)))
	for i := range 40 {
		f.flows = append(f.flows, flow.FlowID(fmt.Sprintf("flow_%02d", i)))
	}
	startFresh(t, s, "runs")
	const chunk = 2000
	for at := 0; at < n; at += chunk {
		rows := make([]flow.Run, min(chunk, n-at))
		for i := range rows {
			rows[i] = f.row(random, at+i, n)
		}
		f.write(t, s, rows)
		f.rows = append(f.rows, rows...)
	}
	analyze(t, s, "runs")
	return f
}

// row is the i-th of n runs.
func (f *filled) row(random *rand.Rand, i, n int) flow.Run {
	at := f.start.Add(fillSpan / time.Duration(n) * time.Duration(i)).Truncate(time.Millisecond)
	ids := flow.IDs{Now: func() time.Time { return at }, Random: randomBytes{random}}
	which := min(random.IntN(40), random.IntN(40), random.IntN(40))
	share := float64(i) / float64(n)
	r := flow.Run{
		ID: ids.NewRun(), FlowID: f.flows[which], Version: 1 + int64(share*float64(1+which%7)), CreatedAt: at, StartedAt: at, EndedAt: at.Add(time.Second),
		KeyID: fmt.Sprintf("key_%02d", (which*5+random.IntN(3))%12), Trigger: flow.TriggerAPI, State: flow.RunSucceeded,
	}
	switch p := random.IntN(1000); {
	case p < 50 && r.FlowID != calmFlow:
		r.State = flow.RunFailed
	case p < 60 && r.FlowID != calmFlow:
		r.State = flow.RunCanceled
	case p < 90:
		r.Trigger, r.KeyID, r.Version, r.Draft = flow.TriggerBuilder, "", 0, true
	case p < 110:
		r.Trigger = flow.TriggerMCP
	}
	switch {
	case i < 3*fewOfMany && i%3 == 0:
		r.KeyID = oldKey
	case i > n/2 && i <= n/2+fewOfMany:
		r.State = flow.RunWaiting
	case i > n/3 && i <= n/3+fewOfMany:
		r.Trigger, r.KeyID = flow.TriggerForm, ""
	case i > n-40:
		r.State = flow.RunRunning
	}
	return r
}

// randomBytes makes identifiers deterministic: it reads from a seeded source.
type randomBytes struct{ *rand.Rand }

func (r randomBytes) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return len(p), nil
}

// write inserts rows; all other columns have the values of an ordinary run.
func (f *filled) write(t testing.TB, s *db.Store, rows []flow.Run) {
	t.Helper()
	var text bytes.Buffer
	var args []any
	text.WriteString(insertRuns)
	for i := range rows {
		r := &rows[i]
		word, ws := "help", ws
		if len(f.rows)+i == 0 {
			word = rareWord
		}
		if i%1000 == 999 {
			ws = otherWS
		}
		draft, place := 0, 0
		if r.Draft {
			draft = 1
		}
		if !r.State.Ended() {
			place = 3
		}
		args = append(args, fmt.Sprintf(`{"ticket":"%s, %s"}`, word, strings.Repeat("the printer is on fire ", 20)))
		fmt.Fprintf(&text, "%s('%s', '%s', '%s', %d, %d, '%s', %d, '%s', '%s', %d, %d, %d, $%d"+otherColumns,
			comma(i), r.ID, ws, r.FlowID, r.Version, draft, r.State, place, r.Trigger, r.KeyID, r.CreatedAt.UnixMicro(), r.StartedAt.UnixMicro(), r.EndedAt.UnixMicro(), len(args))
	}
	err := s.Write(t.Context(), false, func(tx *core.Tx) error {
		_, err := tx.DBTX.ExecContext(t.Context(), text.String(), args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ", "
}

const (
	insertRuns = "INSERT INTO runs (id, workspace_id, flow_id, version, draft, state, place, run_trigger, key_id, created_at, started_at, ended_at, inputs, " +
		"document_hash, attempt, instance_id, user_id, parent_run_id, rerun_from, input_tokens, output_tokens, cost_nano_usd, progress_done, progress_total, " +
		"seq, run_seq, writes, save, timeout, cancel_requested, crashes, expires_at, deadline_at, waiting_since, erased, gist, webhook, error, metadata, outputs) VALUES "
	otherColumns = ", 'abc', 1, '', '', '', '', 10, 2, 5, 3, 3, 9, 9, 1, 1, 3600000000, 0, 0, 0, 0, 0, '', 'help', '', '', '', '{\"answer\":\"Somebody comes.\"}')"
)
