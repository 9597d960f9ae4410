package db_test

import (
	"fmt"
	"testing"
	"time"

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

// TestAliasUses counts requests with a former slug by key and day, and releases the slug.
func TestAliasUses(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.must(w.RenameSlug(w.ctx, ws, w.flow.ID, "renamed", false))
		keys := map[string]*flow.Key{}
		for _, name := range []string{"often", "rarely", "revoked"} {
			text := flow.NewKeyText()
			keys[name] = &flow.Key{WorkspaceID: ws, Name: name, Prefix: text[:flow.KeyShown], Hash: flow.Hash([]byte(text)), Scopes: []flow.Scope{flow.ScopeRun}}
			w.must(w.CreateKey(w.ctx, keys[name]))
		}
		now := w.clock.Now()
		use := func(name, slug string, ago time.Duration, n int64) flow.AliasUse {
			return flow.AliasUse{WorkspaceID: ws, Slug: slug, KeyID: keys[name].ID, At: now.Add(-ago), Count: n}
		}
		const day = 24 * time.Hour
		w.must(w.AddAliasUses(w.ctx, []flow.AliasUse{
			use("often", "answer", 0, 2), use("often", "answer", day, 3), use("rarely", "answer", 29*day, 1),
			use("rarely", "answer", 40*day, 9), use("revoked", "answer", 0, 9), use("often", "other", 0, 9),
		}))
		w.must(w.AddAliasUses(w.ctx, []flow.AliasUse{use("often", "answer", 0, 4)}))
		w.must(w.RevokeKey(w.ctx, ws, keys["revoked"].ID))
		want := func(what, list string) {
			t.Helper()
			callers, err := w.ListAliasCallers(w.ctx, ws, "answer", now.Add(-50*day))
			w.must(err)
			got := ""
			for _, c := range callers {
				got += fmt.Sprint(c.Name, " ", c.Runs, "; ")
			}
			wantEqual(t, what, got, list)
		}
		want("all callers", "rarely 10; often 9; ")
		_, err := w.DropStale(w.ctx, now, 100)
		w.must(err)
		want("callers after old uses were dropped", "often 9; rarely 1; ")
		if list, err := w.ListAliasCallers(w.ctx, "other", "answer", time.Time{}); err != nil || len(list) > 0 {
			t.Errorf("another workspace sees %v, %v", list, err)
		}

		wantCode(t, w.ReleaseAlias(w.ctx, ws, w.flow.ID, "renamed"), flow.CodeNotFound) // it is current
		wantCode(t, w.ReleaseAlias(w.ctx, "other", w.flow.ID, "answer"), flow.CodeNotFound)
		if id, former, err := w.FindSlug(w.ctx, ws, "answer"); err != nil || id != w.flow.ID || !former {
			t.Errorf("the former slug names %s (former: %v), %v", id, former, err)
		}
		w.must(w.ReleaseAlias(w.ctx, ws, w.flow.ID, "answer"))
		f := &flow.Flow{WorkspaceID: ws, Name: "Another", Slug: "answer", Draft: []byte(`{}`)}
		w.must(w.CreateFlow(w.ctx, f))
		if id, former, err := w.FindSlug(w.ctx, ws, "answer"); err != nil || id != f.ID || former {
			t.Errorf("the slug names %s (former: %v), %v", id, former, err)
		}
	})
}
