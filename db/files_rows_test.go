package db_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/flow"
)

func withFiles(ids ...string) func(*flow.NewRun) { return func(n *flow.NewRun) { n.Files = ids } }

func ofRun(id flow.RunID) func(*flow.NewFile) { return func(n *flow.NewFile) { n.RunID = id } }

func (w *fixture) erase(r *flow.Run) {
	w.t.Helper()
	w.must(w.EraseRun(w.ctx, ws, r.FlowID, r.ID, flow.CodeResultNotSaved))
}

func TestFiles_are_erased_with_the_last_run(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		own, shared := w.save("own"), w.save("shared")
		a := w.startAndFinish(withFiles(own.ID, shared.ID))
		b := w.startAndFinish(withFiles(shared.ID))
		made := w.save("made", ofRun(a.ID))
		w.erase(a)
		w.wantGone(own.ID)
		w.wantGone(made.ID)
		w.removeErased()
		wantEqual(t, "what another run has", w.content(shared.ID), "shared")
		w.wantContents(1)
		w.erase(b)
		w.wantGone(shared.ID)
		w.removeErased()
		w.wantContents(0)
		for _, f := range []*flow.File{own, shared, made} { // no trace of a name is left either
			_, _, err := w.OpenFile(w.ctx, ws, f.ID)
			wantCode(t, err, flow.CodeNotFound)
		}
	})
}

func TestFiles_are_erased_by_retention_and_save_false(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		expires, unsaved := w.save("a"), w.save("b")
		w.startAndFinish(withFiles(expires.ID))
		w.startAndFinish(withFiles(unsaved.ID), func(n *flow.NewRun) { n.Run.Save = false })
		_, err := w.EraseUnsaved(w.ctx, time.Time{}, 10)
		w.must(err)
		w.wantGone(unsaved.ID)
		w.content(expires.ID)
		_, err = w.ExpireRuns(w.ctx, w.clock.move(31*24*time.Hour), 10)
		w.must(err)
		w.wantGone(expires.ID)
	})
}

func TestFiles_of_a_parent_are_linked_to_its_rerun(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		in := w.save("in")
		parent := w.take(w.start(withFiles(in.ID)).ID)
		made := w.save("made", ofRun(parent.ID))
		w.must(w.finish(parent, flow.RunSucceeded))
		rerun := w.startAndFinish(func(n *flow.NewRun) { n.Run.ParentRunID = parent.ID })
		w.erase(parent)
		wantEqual(t, "input", w.content(in.ID), "in")
		wantEqual(t, "output", w.content(made.ID), "made")
		w.erase(rerun)
		w.wantGone(in.ID)
		w.wantGone(made.ID)
	})
}

func TestStartRun_refuses_an_erased_file(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		f := w.save("gone")
		w.must(w.EraseFile(w.ctx, ws, f.ID))
		s, err := w.tryStart(withFiles(f.ID), keyed("again", "f"))
		wantCode(t, err, flow.CodeNotFound)
		wantEqual(t, "run", s.Run, nil)
		list, err := w.ListRuns(w.ctx, flow.RunFilter{WorkspaceID: ws, Limit: 10})
		w.must(err)
		wantEqual(t, "runs", len(list), 0)
		w.start(keyed("again", "f")) // the key was not used up
	})
}

// A worker that lost its run must not leave files that are never erased.
func TestSaveFile_for_a_run_that_is_erased(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		r := w.startAndFinish()
		w.erase(r)
		for _, id := range []flow.RunID{r.ID, "run_other"} {
			_, err := w.trySave("late", ofRun(id))
			wantCode(t, err, flow.CodeNotFound)
		}
		_, err := w.trySave("foreign", ofRun(w.startAndFinish().ID), func(n *flow.NewFile) { n.WorkspaceID = "ws_other" })
		wantCode(t, err, flow.CodeNotFound)
		w.clock.move(2 * time.Hour)
		w.must(w.SweepFiles(w.ctx, time.Now().Add(time.Hour)))
		w.wantContents(0)
	})
}

func documentOf(id string) []byte {
	return fmt.Appendf(nil, `{"schema":"sluice.flow/v1","name":"F","nodes":[{"id":"a","kind":"input","config":{"name":"x","default":[{"file":%q}]}}],"edges":[]}`, id)
}

func TestFiles_of_a_document_are_kept(t *testing.T) {
	t.Parallel()
	for name, refer := range map[string]func(w *fixture, id string) error{
		"by a draft": func(w *fixture, id string) error { return w.UpdateDraft(w.ctx, ws, w.flow.ID, "F", "", documentOf(id)) },
		"by a new flow": func(w *fixture, id string) error {
			return w.CreateFlow(w.ctx, &flow.Flow{WorkspaceID: ws, Draft: documentOf(id)})
		},
		"by hand":          func(w *fixture, id string) error { return w.KeepFiles(w.ctx, ws, id, "file_nobody") },
		"by a new version": publishOf,
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			setup(t, func(t *testing.T, w *fixture) {
				f, other := w.save("kept"), w.save("other")
				w.must(refer(w, f.ID))
				w.erase(w.startAndFinish(withFiles(f.ID, other.ID)))
				w.wantGone(other.ID)
				_, err := w.ExpireFiles(w.ctx, w.clock.move(60*24*time.Hour), 10)
				w.must(err)
				wantEqual(t, "content", w.content(f.ID), "kept")
				w.must(w.EraseFile(w.ctx, ws, f.ID))
				w.wantGone(f.ID)
			})
		})
	}
}

func publishOf(w *fixture, id string) error {
	_, _, err := w.PublishFlow(w.ctx, ws, w.flow.ID, documentOf(id), "", "")
	return err
}

func TestKeepFiles_of_another_workspace_changes_nothing(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		f := w.save("a")
		w.must(w.KeepFiles(w.ctx, "ws_other", f.ID))
		w.erase(w.startAndFinish(withFiles(f.ID)))
		w.wantGone(f.ID)
	})
}

func TestExpireFiles(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		var loose []string
		for i := range 3 {
			loose = append(loose, w.save(fmt.Sprint(i)).ID)
		}
		used := w.save("used")
		w.start(withFiles(used.ID))
		n, err := w.ExpireFiles(w.ctx, w.clock.move(30*24*time.Hour-time.Second), 10)
		w.must(err)
		wantEqual(t, "before its time", n, 0)
		now := w.clock.move(time.Second)
		young := w.save("young")
		for _, want := range []int{2, 1, 0} {
			n, err := w.ExpireFiles(w.ctx, now, 2)
			w.must(err)
			wantEqual(t, "batch", n, want)
		}
		for _, id := range loose {
			w.wantGone(id)
		}
		w.content(used.ID)
		w.content(young.ID)
	})
}

func TestFiles_of_another_workspace_are_not_found(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		f := w.save("mine")
		_, err := w.FindFile(w.ctx, "ws_other", f.ID)
		wantCode(t, err, flow.CodeNotFound)
		_, _, err = w.OpenFile(w.ctx, "ws_other", f.ID)
		wantCode(t, err, flow.CodeNotFound)
		wantCode(t, w.EraseFile(w.ctx, "ws_other", f.ID), flow.CodeNotFound)
		found, err := w.FindFiles(w.ctx, "ws_other", []string{f.ID})
		w.must(err)
		wantEqual(t, "found", len(found), 0)
		wantCode(t, w.LinkFiles(w.ctx, "ws_other", "run_x", f.ID), flow.CodeNotFound)
		got, err := w.FileByID(w.ctx, f.ID)
		w.must(err)
		wantEqual(t, "workspace", got.WorkspaceID, ws)
		found, err = w.FindFiles(w.ctx, ws, []string{f.ID, "file_nobody"})
		w.must(err)
		wantEqual(t, "found here", len(found) == 1 && *found[f.ID] == *f, true)
		w.must(w.EraseFile(w.ctx, ws, f.ID))
		_, err = w.FileByID(w.ctx, f.ID)
		wantCode(t, err, flow.CodeNotFound)
	})
}

func TestFileUses(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		f := w.save("a")
		w.start(withFiles(f.ID), func(n *flow.NewRun) { n.Run.KeyID = "key_b" })
		for range 60 { // many runs of one key do not hide those of another
			w.start(withFiles(f.ID))
		}
		w.start()
		uses, err := w.FileUses(w.ctx, ws, f.ID)
		w.must(err)
		slices.SortFunc(uses, func(a, b flow.FileUse) int { return strings.Compare(a.KeyID, b.KeyID) })
		want := []flow.FileUse{{FlowID: w.flow.ID, KeyID: "key_a"}, {FlowID: w.flow.ID, KeyID: "key_b"}}
		wantEqual(t, "uses", fmt.Sprint(uses), fmt.Sprint(want))
		uses, err = w.FileUses(w.ctx, "ws_other", f.ID)
		w.must(err)
		wantEqual(t, "elsewhere", len(uses), 0)
	})
}

// A run starts with a file while the only run that uses it is erased: either the file
// remains for the new run, or the new run is refused.
func TestStartRun_concurrent_with_erasure(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		for range 10 {
			f := w.save("contested")
			old := w.startAndFinish(withFiles(f.ID))
			erased := make(chan error)
			go func() { erased <- w.EraseRun(w.ctx, ws, old.FlowID, old.ID, flow.CodeResultNotSaved) }()
			_, err := w.tryStart(withFiles(f.ID))
			w.must(<-erased)
			if err == nil {
				wantEqual(t, "content", w.content(f.ID), "contested")
				continue
			}
			wantCode(t, err, flow.CodeNotFound)
			w.wantGone(f.ID)
		}
	})
}

func TestFileKey(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]func(testing.TB, ...func(*core.Config)) core.Config{"sqlite": dbtest.SQLiteConfig, "postgres": dbtest.PostgresConfig} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t)
			keys := make(chan []byte, 3)
			for range cap(keys) {
				s, err := db.Open(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Close() })
				go func() {
					key, err := s.FileKey(t.Context())
					if err != nil {
						t.Error(err)
					}
					keys <- key
				}()
			}
			first := <-keys
			wantEqual(t, "length", len(first), 32)
			for range cap(keys) - 1 {
				wantEqual(t, "the same", bytes.Equal(<-keys, first), true)
			}
			s, err := db.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			wantEqual(t, "sealed", bytes.Contains(meta(t, s, "file_key"), first), false)
		})
	}
}

func meta(t *testing.T, s *db.Store, name string) (value []byte) {
	t.Helper()
	err := s.Write(t.Context(), false, func(tx *core.Tx) (err error) {
		value, err = tx.Queries.FindMeta(t.Context(), name)
		return err
	})
	if err != nil || len(value) == 0 {
		t.Fatal(value, err)
	}
	return value
}
