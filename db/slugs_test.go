package db_test

import (
	"testing"

	"sluice/flow"
	"sluice/flow/document"
)

func TestSlugs(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		create := func(name, slug string) (*flow.Flow, error) {
			f := &flow.Flow{WorkspaceID: ws, Name: name, Slug: slug, Draft: []byte(`{}`)}
			return f, w.CreateFlow(w.ctx, f)
		}
		first, err := create("Route a ticket", "")
		w.must(err)
		second, err := create("Route a Ticket!", "")
		w.must(err)
		wantEqual(t, "slug", first.Slug, "route-a-ticket")
		wantEqual(t, "second slug", second.Slug, "route-a-ticket-2")
		_, err = create("Another", "route-a-ticket")
		wantEqual(t, "taken", flow.AsError(err).Code, flow.CodeSlugTaken)

		w.must(w.RenameSlug(w.ctx, ws, first.ID, "triage", false))
		for _, slug := range []string{"triage", "route-a-ticket"} {
			id, err := w.FindFlowID(w.ctx, ws, slug)
			w.must(err)
			wantEqual(t, slug, id, first.ID)
		}
		_, err = w.FindFlowID(w.ctx, "ws_other", "triage")
		wantEqual(t, "of another workspace", flow.AsError(err).Code, flow.CodeNotFound)

		// A current slug is never taken, an alias only on request.
		for _, slug := range []string{"triage", "route-a-ticket"} {
			err = w.RenameSlug(w.ctx, ws, second.ID, slug, slug == "triage")
			wantEqual(t, "rename to "+slug, flow.AsError(err).Code, flow.CodeSlugTaken)
		}
		w.must(w.RenameSlug(w.ctx, ws, second.ID, "route-a-ticket", true))
		id, err := w.FindFlowID(w.ctx, ws, "route-a-ticket")
		w.must(err)
		wantEqual(t, "taken alias", id, second.ID)
		w.must(w.RenameSlug(w.ctx, ws, second.ID, "route-a-ticket-2", false)) // back to its own alias
		f, err := w.FindFlow(w.ctx, ws, second.ID)
		w.must(err)
		wantEqual(t, "slug after the renames", f.Slug, "route-a-ticket-2")

		for range 25 { // more than are numbered
			f, err := create("Many", "")
			w.must(err)
			if !document.ValidSlug(f.Slug) {
				t.Errorf("%q is not valid", f.Slug)
			}
		}
	})
}
