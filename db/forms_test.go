package db_test

import (
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/flow"
	"sluice/flow/forms"
)

func TestForms(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		_, err := w.FindForm(w.ctx, w.flow.ID)
		wantCode(t, err, flow.CodeNotFound)
		f := forms.New(ws, w.flow.ID)
		f.On, f.Title, f.Origins, f.PasswordHash = true, "Ask us", []string{"https://a.example"}, "hash"
		w.must(w.SaveForm(w.ctx, f))
		f.UpdatedAt = w.clock.Now()
		found, err := w.FindForm(w.ctx, w.flow.ID)
		w.must(err)
		if !reflect.DeepEqual(found, f) {
			t.Errorf("kept %+v, found %+v", f, found)
		}
		other := *f
		other.WorkspaceID = "ws_other"
		wantCode(t, w.SaveForm(w.ctx, &other), flow.CodeNotFound)
	})
}

func TestTakeFormRun(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.must(w.SaveForm(w.ctx, forms.New(ws, w.flow.ID)))
		take := func(day, most int64) bool {
			t.Helper()
			taken, err := w.TakeFormRun(w.ctx, w.flow.ID, day, most)
			w.must(err)
			return taken
		}
		var taken atomic.Int64
		var all sync.WaitGroup
		for range 12 {
			all.Go(func() {
				if take(1, 3) {
					taken.Add(1)
				}
			})
		}
		all.Wait()
		wantEqual(t, "taken at once", taken.Load(), 3)
		w.must(w.ReturnFormRun(w.ctx, w.flow.ID, 1))
		wantEqual(t, "after one was returned", take(1, 3), true)
		wantEqual(t, "and again", take(1, 3), false)
		w.must(w.SaveForm(w.ctx, forms.New(ws, w.flow.ID)))
		wantEqual(t, "after the settings were saved", take(1, 3), false)
		wantEqual(t, "the next day", take(2, 3), true)
		w.must(w.ReturnFormRun(w.ctx, w.flow.ID, 1))
		f, err := w.FindForm(w.ctx, w.flow.ID)
		w.must(err)
		wantEqual(t, "taken of the day", f.Taken, 1)
	})
}
