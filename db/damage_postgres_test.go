package db_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/e2e/need"
	"sluice/flow"
)

// onDamagedPostgres sets up a store on PostgreSQL with what prepare makes, and damages a page of
// a table or index.
func onDamagedPostgres[T any](t *testing.T, name string, page int, prepare func(w *fixture) T) (*fixture, T) {
	t.Helper()
	t.Parallel()
	server := dbtest.NewServer(t, dbtest.ServerConfig{})
	c := &clock{now: time.Date(2026, 3, 14, 15, 9, 26, 535_000_000, time.UTC)}
	cfg := server.Config("damaged")
	cfg.Now = c.Now
	open := func() *db.Store {
		s, err := db.Open(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	w := newFixture(t, open(), c)
	made := prepare(w)
	w.exec("ANALYZE") // otherwise PostgreSQL does not know which index finds a row
	var file string
	w.must(w.DB.Reader.QueryRow("SELECT pg_relation_filepath($1)", name).Scan(&file))
	w.must(w.Close())
	server.DamagePage(file, page)
	w.Store = open()
	t.Cleanup(func() { _ = w.Close() })
	w.UseQueue(w.queue)
	return w, made
}

func TestDamagedIndex_is_rebuilt_on_PostgreSQL(t *testing.T) {
	need.Time(t)
	for _, index := range []string{"runs_ended", "runs_expiry", "runs_pkey"} {
		t.Run(index, func(t *testing.T) {
			w, all := onDamagedPostgres(t, index, 1, func(w *fixture) []flow.RunID { return hundredRuns(w, func() *flow.Run { return w.startAndFinish() }) })
			w.clock.move(31 * 24 * time.Hour)
			_, err := w.ExpireRuns(w.ctx, w.clock.Now(), 500)
			w.must(err)
			page, err := w.ListRunRows(w.ctx, flow.RunQuery{WorkspaceID: ws, Limit: 200})
			w.must(err)
			wantEqual(t, "rows", len(page.Rows), len(all))
			for _, id := range all {
				wantEqual(t, "erased", w.find(id).Erased, flow.CodeRunExpired)
			}
			_ = w.startAndFinish()
			wantTexts(t, "marked", w.damaged(), "runs "+index)
		})
	}
}

func TestDamagedPage_of_PostgreSQL_is_marked(t *testing.T) {
	need.Time(t)
	w, all := onDamagedPostgres(t, "runs", 2, func(w *fixture) []flow.RunID { return hundredRuns(w, func() *flow.Run { return w.startAndFinish() }) })
	read := 0
	for _, id := range all { // each on its own
		if _, err := w.FindRun(w.ctx, ws, "", id); err == nil {
			read++
		} else if !core.IsDamage(err) {
			t.Fatal(err)
		}
	}
	if read == len(all) || read < len(all)/2 {
		t.Errorf("%d of %d runs can be read", read, len(all))
	}
	_, _ = w.ListRunRows(w.ctx, flow.RunQuery{WorkspaceID: ws, Limit: 200})
	_ = w.startAndFinish()
	wantTexts(t, "marked", w.damaged(), "runs page 2")
}

// wantReadable checks that a few of the runs cannot be read, with an error that says so, and
// returns the others.
func (w *fixture) wantReadable(all []flow.RunID) (good []flow.RunID) {
	w.t.Helper()
	for _, id := range all {
		_, err := w.FindRun(w.ctx, ws, "", id)
		if err == nil {
			good = append(good, id)
		} else if !core.IsDamage(err) || !strings.Contains(err.Error(), "The stored data of the run "+string(id)+" cannot be read") {
			w.t.Errorf("reading %s: %v", id, err)
		}
	}
	if len(good) == len(all) || len(good) < len(all)*2/3 {
		w.t.Fatalf("%d of %d runs can be read", len(good), len(all))
	}
	return good
}

// Where PostgreSQL puts the new version of a row depends on what it last knew of the free space on each page, so it may read the
// damaged page for any of the changes.
func TestDamagedPage_of_PostgreSQL_makes_retention_erase_or_mark(t *testing.T) {
	need.Time(t)
	w, all := onDamagedPostgres(t, "runs", 2, func(w *fixture) []flow.RunID { return hundredRuns(w, func() *flow.Run { return w.startAndFinish() }) })
	good := w.wantReadable(all)
	w.clock.move(31 * 24 * time.Hour)
	_, err := w.ExpireRuns(w.ctx, w.clock.Now(), 200)
	w.must(err)
	marked := w.damaged()
	for _, id := range good {
		if erased := w.find(id).Erased == flow.CodeRunExpired; erased == slices.Contains(marked, "runs "+string(id)) {
			t.Errorf("%s is erased: %t, and the marks are %v", id, erased, marked)
		}
	}
	_, err = w.DropStale(w.ctx, w.clock.Now(), 200)
	w.must(err)
}

func TestDamagedPage_of_PostgreSQL_does_not_stop_lists(t *testing.T) {
	need.Time(t)
	const damaged = 2
	elsewhere := 0 // rows on other pages; some of them have an old version on this page, by which an index leads there
	w, all := onDamagedPostgres(t, "runs", damaged, func(w *fixture) []flow.RunID {
		all := hundredRuns(w, func() *flow.Run { return w.startAndFinish() })
		w.must(w.DB.Reader.QueryRow("SELECT count(*) FROM runs WHERE ctid NOT BETWEEN $1 AND $2", fmt.Sprintf("(%d,0)", damaged), fmt.Sprintf("(%d,65535)", damaged)).Scan(&elsewhere))
		return all
	})
	wantEqual(t, "runs that can be read", len(w.wantReadable(all)), elsewhere)
	for range 2 {
		page, err := w.ListRunRows(w.ctx, flow.RunQuery{WorkspaceID: ws, Limit: 100})
		w.must(err)
		wantEqual(t, "rows", len(page.Rows), elsewhere)
		page, err = w.ListRunRows(w.ctx, flow.RunQuery{WorkspaceID: ws, Limit: 100, FlowID: w.flow.ID, States: []flow.RunState{flow.RunSucceeded}})
		w.must(err)
		wantEqual(t, "rows of a flow", len(page.Rows), elsewhere)
		runs, err := w.ListRuns(w.ctx, flow.RunFilter{WorkspaceID: ws, FlowID: w.flow.ID, Limit: 100})
		w.must(err)
		wantEqual(t, "runs", len(runs), elsewhere)
	}
	wantTexts(t, "marked", w.damaged(), "runs page 2")
	_ = w.startAndFinish()
}

func TestDamagedPage_of_PostgreSQL_does_not_stop_recovery(t *testing.T) {
	need.Time(t)
	w, all := onDamagedPostgres(t, "runs", 2, func(w *fixture) []flow.RunID {
		w.must(w.Heartbeat(w.ctx, "dead", 1000))
		w.river("dead")
		return hundredRuns(w, func() *flow.Run { return w.take(w.start().ID) })
	})
	good := w.wantReadable(all)
	report := w.crash()
	wantEqual(t, "taken back", report.Runs, len(good))
}

func TestDamagedPage_of_PostgreSQL_does_not_stop_wakes(t *testing.T) {
	for _, table := range []string{"runs", "wakes"} {
		t.Run(table, func(t *testing.T) {
			need.Time(t)
			w, all := onDamagedPostgres(t, table, 0, func(w *fixture) (all []flow.RunID) {
				for range 3 {
					all = append(all, hundredRuns(w, func() *flow.Run {
						r := w.take(w.start().ID)
						w.wait(r, w.clock.Now().Add(time.Minute))
						return r
					})...)
				}
				return all
			})
			w.clock.move(time.Hour)
			woken := 0
			for range 3 {
				n, _, err := w.DueWakes(w.ctx, w.clock.Now(), 500)
				w.must(err)
				woken += n
			}
			if woken == len(all) || woken < len(all)/3 {
				t.Errorf("%d of %d were woken", woken, len(all))
			}
		})
	}
}

func TestDamagedPage_of_PostgreSQL_does_not_stop_deliveries(t *testing.T) {
	need.Time(t)
	w, ids := onDamagedPostgres(t, "deliveries", 1, func(w *fixture) (ids []string) {
		for i := range 60 {
			ids = append(ids, w.addTests(fmt.Sprint("https://a.test/", i, strings.Repeat("x", 300)))...)
		}
		return ids
	})
	_, _, err := w.DueDeliveries(w.ctx, w.clock.move(time.Second), 200)
	w.must(err)
	page, err := w.ListDeliveryRows(w.ctx, flow.DeliveryQuery{WorkspaceID: ws, Limit: 100})
	w.must(err)
	if n := len(page.Rows); n == len(ids) || n < len(ids)/2 {
		t.Errorf("%d of %d rows are listed", n, len(ids))
	}
}

// TestInspect_reads_all_pages_of_PostgreSQL finds damage that no statement has met before, with checksums and without.
func TestInspect_reads_all_pages_of_PostgreSQL(t *testing.T) {
	need.Time(t)
	w, _ := onDamagedPostgres(t, "runs", 3, func(w *fixture) []flow.RunID { return hundredRuns(w, func() *flow.Run { return w.startAndFinish() }) })
	e, err := w.Inspect(w.ctx)
	w.must(err)
	if len(e.Damaged) != 1 || e.Damaged[0].Table != "runs" || e.Damaged[0].ID != "page 3" || e.Damaged[0].Error == "" || len(e.Unchecked) > 0 {
		t.Errorf("the inspection is %+v", e)
	}
}
