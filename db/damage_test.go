package db_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/e2e/need"
	"sluice/flow"
)

// damaged returns the marked rows as "table id".
func (w *fixture) damaged() (list []string) {
	w.t.Helper()
	rows, err := w.ListDamaged(w.ctx, 1000)
	w.must(err)
	for _, r := range rows {
		list = append(list, r.Table+" "+r.ID)
	}
	return list
}

// reopenDamaged closes the store of SQLite, overwrites a leaf page of a table or index that holds
// a text, and opens the store again.
func (w *fixture) reopenDamaged(name, text string) {
	w.t.Helper()
	cfg := w.Config
	var root, size int
	w.must(w.SQLite().QueryRow("SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = ?", name).Scan(&root, &size))
	_, err := w.SQLite().Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	w.must(err)
	w.must(w.Close())
	path := filepath.Join(cfg.DataDir, core.DatabaseFile)
	data, err := os.ReadFile(path)
	w.must(err)
	found := false
	for _, page := range leaves(data, root, size) {
		if bytes.Contains(page, []byte(text)) && !found {
			found = true
			copy(page, bytes.Repeat([]byte{0xff}, size))
		}
	}
	if !found {
		w.t.Fatalf("no page of %s holds %s", name, text)
	}
	w.must(os.WriteFile(path, data, 0o600))
	s, err := db.Open(context.Background(), cfg)
	w.must(err)
	w.t.Cleanup(func() { _ = s.Close() })
	w.Store = s
	w.UseQueue(w.queue)
}

// leaves returns the leaf pages of a table or index of SQLite, given its root page.
func leaves(data []byte, number, size int) (pages [][]byte) {
	page := data[(number-1)*size : number*size]
	if page[0] != 5 && page[0] != 2 { // of an interior page of a table or index
		return [][]byte{page}
	}
	for i := range int(binary.BigEndian.Uint16(page[3:])) {
		cell := binary.BigEndian.Uint16(page[12+2*i:])
		pages = append(pages, leaves(data, int(binary.BigEndian.Uint32(page[cell:])), size)...)
	}
	return append(pages, leaves(data, int(binary.BigEndian.Uint32(page[8:])), size)...)
}

// TestDamage_of_one_value has a run that ended and cannot be erased because of what is stored in
// it: all others are erased, tombstones are dropped, and it is marked.
func TestDamage_of_one_value(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		var ids []flow.RunID
		for range 5 {
			ids = append(ids, w.startAndFinish().ID)
		}
		// Counting the bytes of a run fails for a value that is no number.
		if w.IsPostgres() {
			w.exec(fmt.Sprintf("CREATE RULE refuse AS ON UPDATE TO runs WHERE old.id = '%s' DO ALSO SELECT 1/(old.place)", ids[1]))
		} else {
			w.exec(fmt.Sprintf("CREATE TRIGGER refuse BEFORE UPDATE ON runs WHEN old.id = '%s' BEGIN SELECT RAISE(ABORT, 'refused'); END", ids[1]))
		}
		w.clock.move(31 * 24 * time.Hour)
		n, err := w.ExpireRuns(w.ctx, w.clock.Now(), 200)
		w.must(err)
		wantEqual(t, "processed", n, 4)
		for i, id := range ids {
			wantEqual(t, fmt.Sprint("erased ", i), w.find(id).Erased != "", i != 1)
		}
		wantTexts(t, "marked", w.damaged(), "runs "+string(ids[1]))
		n, err = w.ExpireRuns(w.ctx, w.clock.Now(), 200)
		w.must(err)
		wantEqual(t, "listed again", n, 0)
		count, err := w.CountDamaged(w.ctx)
		w.must(err)
		wantEqual(t, "counted", count, 1)
		// A day later it is tried again.
		w.clock.move(25 * time.Hour)
		_, err = w.DropStale(w.ctx, w.clock.Now(), 200)
		w.must(err)
		wantEqual(t, "marks", len(w.damaged()), 0)
	})
}

// TestDamage_of_an_error has a run whose stored error is no JSON: it is erased anyway.
func TestDamage_of_an_error(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		id := w.startAndFinish().ID
		w.exec("UPDATE runs SET error = '{garbage'")
		w.clock.move(31 * 24 * time.Hour)
		_, err := w.ExpireRuns(w.ctx, w.clock.Now(), 200)
		w.must(err)
		wantEqual(t, "erased", w.find(id).Erased, flow.CodeRunExpired)
		wantEqual(t, "marks", len(w.damaged()), 0)
	})
}

// newSQLite returns a fixture on SQLite.
func newSQLite(t *testing.T) *fixture {
	t.Helper()
	c := &clock{now: time.Date(2026, 3, 14, 15, 9, 26, 535_000_000, time.UTC)}
	return newFixture(t, dbtest.SQLite(t, func(cfg *core.Config) { cfg.Now = c.Now }), c)
}

// onDamaged sets up a store on SQLite with the runs that prepare makes, and damages the page of
// one run. It returns the ID of that run and those of all runs.
func onDamaged(t *testing.T, prepare func(w *fixture) (all []flow.RunID)) (w *fixture, bad flow.RunID, all []flow.RunID) {
	t.Helper()
	w = newSQLite(t)
	all = prepare(w)
	bad = all[len(all)*9/10]
	w.reopenDamaged("runs", string(bad))
	return w, bad, all
}

// hundredRuns makes runs, which fill several pages.
func hundredRuns(w *fixture, each func() *flow.Run) (ids []flow.RunID) {
	for range 100 {
		ids = append(ids, each().ID)
	}
	return ids
}

// wantMost checks that few of the runs are marked, the damaged one among them, and returns the
// others.
func (w *fixture) wantMost(bad flow.RunID, all []flow.RunID) (good []flow.RunID) {
	w.t.Helper()
	marked := " " + strings.Join(w.damaged(), " ") + " "
	for _, id := range all {
		if !strings.Contains(marked, " "+string(id)+" ") {
			good = append(good, id)
		}
	}
	if !strings.Contains(marked, string(bad)) || len(good) < len(all)*2/3 {
		w.t.Fatalf("of %d runs %d are not marked; marked are %s", len(all), len(good), marked)
	}
	return good
}

func TestDamagedPage_does_not_stop_retention(t *testing.T) {
	t.Parallel()
	w, bad, all := onDamaged(t, func(w *fixture) []flow.RunID { return hundredRuns(w, func() *flow.Run { return w.startAndFinish() }) })
	w.clock.move(31 * 24 * time.Hour)
	_, err := w.ExpireRuns(w.ctx, w.clock.Now(), 200)
	w.must(err)
	for _, id := range w.wantMost(bad, all) {
		wantEqual(t, "erased", w.find(id).Erased, flow.CodeRunExpired)
	}
	_, err = w.DropStale(w.ctx, w.clock.Now(), 200)
	w.must(err)
	w.clock.move(400 * 24 * time.Hour)
	_, err = w.DropTombstones(w.ctx, w.clock.Now(), 200)
	w.must(err)
	e, err := w.Inspect(w.ctx)
	w.must(err)
	if e.Damage == "" || len(e.Damaged) == 0 {
		t.Errorf("the inspection is %+v", e)
	}
}

func TestDamagedPage_does_not_stop_recovery(t *testing.T) {
	t.Parallel()
	w, bad, all := onDamaged(t, func(w *fixture) []flow.RunID {
		w.must(w.Heartbeat(w.ctx, "dead", 1000))
		w.river("dead")
		return hundredRuns(w, func() *flow.Run { return w.take(w.start().ID) })
	})
	w.queue.in = nil
	report, err := w.Recover(w.ctx, "next")
	w.must(err)
	good := w.wantMost(bad, all)
	wantEqual(t, "taken back", report.Runs, len(good))
	for _, id := range good {
		wantEqual(t, "attempt", w.take(id).Attempt, 2)
	}
}

func TestDamagedPage_does_not_stop_wakes(t *testing.T) {
	t.Parallel()
	w, bad, all := onDamaged(t, func(w *fixture) []flow.RunID {
		return hundredRuns(w, func() *flow.Run {
			r := w.take(w.start().ID)
			w.wait(r, w.clock.Now().Add(time.Minute))
			return r
		})
	})
	w.clock.move(time.Hour)
	for range 3 {
		_, _, err := w.DueWakes(w.ctx, w.clock.Now(), 200)
		w.must(err)
	}
	for _, id := range w.wantMost(bad, all) {
		wantEqual(t, "attempt", w.take(id).Attempt, 2)
	}
}

// TestDamagedPage_of_wakes loses when some runs are due.
func TestDamagedPage_of_wakes(t *testing.T) {
	t.Parallel()
	w := newSQLite(t)
	all := hundredRuns(w, func() *flow.Run {
		r := w.take(w.start().ID)
		w.wait(r, w.clock.Now().Add(time.Minute))
		return r
	})
	w.reopenDamaged("wakes", string(all[50]))
	w.clock.move(time.Hour)
	woken := 0
	for range 3 {
		n, _, err := w.DueWakes(w.ctx, w.clock.Now(), 200)
		w.must(err)
		woken += n
	}
	if lost := len(w.damaged()); lost == 0 || woken != len(all)-lost {
		t.Errorf("%d were woken, %d are marked", woken, lost)
	}
}

func TestDamagedPage_does_not_stop_admission(t *testing.T) {
	t.Parallel()
	need.Time(t)
	var first *flow.Run
	w, bad, all := onDamaged(t, func(w *fixture) []flow.RunID {
		w.SetCapacity(1)
		first = w.take(w.start().ID)
		return append(hundredRuns(w, func() *flow.Run { return w.start() }), hundredRuns(w, func() *flow.Run { return w.start() })...)
	})
	w.SetCapacity(60) // runs next to the damaged page may keep their slots
	w.must(w.finish(first, flow.RunSucceeded))
	ended := 0
	for range all {
		_, err := w.AdmitRuns(w.ctx, 10)
		w.must(err)
		for _, id := range all {
			if j, ok := w.queue.last(string(id)); ok {
				if r, _, err := w.LoadRun(w.ctx, id, j.Attempt); err == nil && !r.State.Ended() {
					r.StartedAt = w.clock.Now()
					err := w.finish(r, flow.RunSucceeded)
					if core.IsDamage(err) { // it grew, and its page would be balanced with the damaged one next to it
						_, _ = w.FailRun(w.ctx, id, j.Attempt, flow.Errorf(flow.CodeInternal, "It cannot be stored."))
						continue
					}
					w.must(err)
					ended++
				}
			}
		}
	}
	if marked := strings.Join(w.damaged(), " "); !strings.Contains(marked, string(bad)) || ended < len(all)/3 {
		t.Errorf("%d of %d ended; marked are %s", ended, len(all), marked)
	}
}

func TestDamagedPage_does_not_stop_lists(t *testing.T) {
	t.Parallel()
	w, bad, all := onDamaged(t, func(w *fixture) []flow.RunID { return hundredRuns(w, func() *flow.Run { return w.startAndFinish() }) })
	page, err := w.ListRunRows(w.ctx, flow.RunQuery{WorkspaceID: ws, Limit: 100})
	w.must(err)
	runs, err := w.ListRuns(w.ctx, flow.RunFilter{WorkspaceID: ws, FlowID: w.flow.ID, Limit: 100})
	w.must(err)
	good := w.wantMost(bad, all)
	wantEqual(t, "rows", len(page.Rows), len(good))
	wantEqual(t, "runs", len(runs), len(good))
}

func TestDamagedPage_does_not_stop_deliveries(t *testing.T) {
	t.Parallel()
	w := newSQLite(t)
	var ids []string
	for i := range 60 { // of endpoints of their own, so that all get slots over time
		ids = append(ids, w.addTests(fmt.Sprint("https://a.test/", i, strings.Repeat("x", 300)))...)
	}
	w.reopenDamaged("deliveries", ids[30])
	sent := map[string]bool{}
	for range 60 {
		_, _, err := w.DueDeliveries(w.ctx, w.clock.move(time.Second), 200)
		w.must(err)
		for _, id := range w.queue.ids(flow.JobDelivery) {
			if !sent[id] {
				sent[id] = true
				w.deliver(id, flow.DeliveryDelivered)
			}
		}
	}
	if sent[ids[30]] || len(sent) < 40 {
		t.Errorf("%d of 60 were sent", len(sent))
	}
	page, err := w.ListDeliveryRows(w.ctx, flow.DeliveryQuery{WorkspaceID: ws, Limit: 100})
	w.must(err)
	wantEqual(t, "rows", len(page.Rows), len(sent))
}

func TestDamagedIndex_is_rebuilt(t *testing.T) {
	t.Parallel()
	need.Time(t)
	for _, index := range []string{"runs_expiry", "sqlite_autoindex_runs_1"} {
		t.Run(index, func(t *testing.T) {
			t.Parallel()
			w := newSQLite(t)
			all := hundredRuns(w, func() *flow.Run { return w.startAndFinish() })
			all = append(all, hundredRuns(w, func() *flow.Run { return w.startAndFinish() })...)
			w.reopenDamaged(index, "")
			w.clock.move(31 * 24 * time.Hour)
			_, err := w.ExpireRuns(w.ctx, w.clock.Now(), 500)
			w.must(err)
			for _, id := range all {
				wantEqual(t, "erased", w.find(id).Erased, flow.CodeRunExpired)
			}
			page, err := w.ListRunRows(w.ctx, flow.RunQuery{WorkspaceID: ws, Limit: 200})
			w.must(err)
			wantEqual(t, "rows", len(page.Rows), len(all))
			wantTexts(t, "marked", w.damaged(), "runs "+index)
			// Work on all tables continues as well, and the ID of a run stays unique.
			_ = w.startAndFinish()
			if _, err := w.SQLite().Exec("INSERT INTO runs SELECT * FROM runs LIMIT 1"); err == nil {
				t.Error("a run was stored twice")
			}
			e, err := w.Inspect(w.ctx)
			w.must(err)
			wantEqual(t, "damage", e.Damage, "")
			if e.Unused == 0 {
				t.Error("the pages of the damaged index are not reported")
			}
		})
	}
}

// TestDamagedIndex_does_not_stop_writes has an index in which only new runs are stored.
func TestDamagedIndex_does_not_stop_writes(t *testing.T) {
	t.Parallel()
	w := newSQLite(t)
	all := hundredRuns(w, func() *flow.Run { return w.startAndFinish() })
	w.reopenDamaged("runs_ended", string(all[99]))
	for range 10 {
		w.startAndFinish()
	}
	wantTexts(t, "marked", w.damaged(), "runs runs_ended")
}
