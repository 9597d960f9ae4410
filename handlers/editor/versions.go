package editor

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers/web"
	"sluice/views/components"
	editorview "sluice/views/editor"
	"sluice/views/layout"
)

// versionRoutes returns the routes of published versions.
func (s *Server) versionRoutes() []route {
	return []route{
		{http.MethodGet, "/flows/:flow/versions", web.Viewer, web.OnFlow(showVersions)},
		{http.MethodGet, "/flows/:flow/versions/:n/live", web.Editor, web.OnFlow(confirmLive)},
		{http.MethodPost, "/flows/:flow/versions/:n/live", web.Editor, makeLive},
		{http.MethodPost, "/flows/:flow/versions/:n/restore", web.Editor, restoreVersion},
		{http.MethodPost, "/flows/:flow/versions/undo", web.Editor, web.Posted(web.OnFlow(undoRestore))},
		{http.MethodGet, "/flows/:flow/compare", web.Viewer, web.OnFlow(showCompare)},
	}
}

// showVersions is GET /flows/{id}/versions: the draft and all versions.
func showVersions(c *call, f *flow.Flow) error {
	v := editorview.VersionsPage{FlowID: string(f.ID), Name: f.Name, EditedAt: f.UpdatedAt, URL: c.startURL(f.ID), Now: c.s.Now()}
	var err error
	if v.State, err = publishState(c, f); err != nil {
		return err
	}
	if f.LiveVersion > 0 {
		changes, err := c.s.Library.Changes(c.Ctx(), c.WorkspaceID(), f.ID)
		if err != nil {
			return err
		}
		v.Draft = diffOf(changes)
	}
	if v.List, v.Most, err = versionLines(c, f); err != nil {
		return err
	}
	if !v.State.ReadOnly {
		if v.Replaced, err = c.listReplacements(f.ID, flow.EditLife, maxReplaced); err != nil {
			return err
		}
	}
	if n, err := strconv.ParseInt(c.QueryParam("restored"), 10, 64); err == nil && !v.State.ReadOnly {
		v.Restored, v.RestoreTx = n, c.QueryParam("tx")
	}
	return c.Render(http.StatusOK, editorview.Versions(c.Page("Versions of "+f.Name, layout.SectionFlows), v))
}

// versionLines converts the versions, with the number of recent runs of each.
// atLeast reports whether counting stopped early, so that the numbers are lower
// bounds.
func versionLines(c *call, f *flow.Flow) (lines []editorview.VersionLine, atLeast bool, err error) {
	list, err := c.s.Store.ListVersions(c.Ctx(), c.WorkspaceID(), f.ID)
	if err != nil {
		return nil, false, err
	}
	runs, complete, err := c.s.Store.CountVersionRuns(c.Ctx(), c.WorkspaceID(), f.ID, c.s.Now().Add(-flow.CallerPeriod))
	if err != nil {
		return nil, false, err
	}
	userName, draft := c.UserNames(), flow.DocumentHash(f.Draft)
	for _, v := range list {
		lines = append(lines, editorview.VersionLine{
			Number: v.Number, At: v.CreatedAt, By: userName(v.By), Summary: v.Summary,
			Live: v.Number == f.LiveVersion, Same: v.DocumentHash == draft, Runs: runs[v.Number],
		})
	}
	return lines, !complete, nil
}

// parseVersion parses a version number. An invalid one is not found.
func parseVersion(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, web.ErrNotFound
	}
	return n, nil
}

// versionOf returns the document of a version, read-only.
func versionOf(c *call, d *draft, text string) (*draft, error) {
	n, err := parseVersion(text)
	if err != nil {
		return nil, err
	}
	doc, err := c.s.Library.Document(c.Ctx(), c.WorkspaceID(), d.flow.ID, n)
	if err != nil {
		return nil, err
	}
	return d.withDocument(doc), nil
}

// showVersion is GET /flows/{id}?version=: the editor with a version,
// read-only.
func showVersion(c *call, d *draft, text string) error {
	shown, err := versionOf(c, d, text)
	if err != nil {
		return err
	}
	n, _ := parseVersion(text) // versionOf has checked it
	return c.builder(http.StatusOK, shown, func(b *editorview.BuilderPage) {
		b.Replay = editorview.VersionName(n)
		b.Fill.Banner = editorview.VersionNote(string(d.flow.ID), n, n == d.flow.LiveVersion)
	})
}

// confirmLive is GET /flows/{id}/versions/{n}/live: the changes that callers would
// notice if this version became live.
func confirmLive(c *call, f *flow.Flow) error {
	n, err := parseVersion(c.Param("n"))
	if err != nil {
		return err
	}
	comparison, err := c.s.Library.CompareVersions(c.Ctx(), c.WorkspaceID(), f.ID, f.LiveVersion, n)
	if err != nil {
		return err
	}
	form := editorview.LiveForm{FlowID: string(f.ID), Name: f.Name, Live: f.LiveVersion, Number: n, Diff: diffOf(comparison.Diff)}
	if len(comparison.Diff.Breaking) > 0 {
		if form.Callers, err = callers(c, f.ID); err != nil {
			return err
		}
	}
	return c.Render(http.StatusOK, editorview.MakeLive(c.Page("Make live", layout.SectionFlows), form))
}

// makeLive is POST /flows/{id}/versions/{n}/live: new calls run this version.
func makeLive(c *call) error {
	f, n, err := flowAndVersion(c)
	if err != nil {
		return err
	}
	if err := c.s.Library.MakeLive(c.Ctx(), c.Actor(), f, n); err != nil {
		return err
	}
	c.s.AnnounceLive(f.ID, n)
	c.Toast(components.ToneOK, fmt.Sprintf("%s of “%s” is live.", editorview.VersionName(n), f.Name))
	return c.Redirect("/flows/" + url.PathEscape(string(f.ID)) + "/versions")
}

// flowAndVersion finds the flow and the version number of the path.
func flowAndVersion(c *call) (f *flow.Flow, n int64, err error) {
	if err := c.ParseForm(); err != nil {
		return nil, 0, err
	}
	if n, err = parseVersion(c.Param("n")); err != nil {
		return nil, 0, err
	}
	f, err = c.FindFlow()
	return f, n, err
}

// restoreVersion is POST /flows/{id}/versions/{n}/restore: it replaces the draft by
// the version. The edit can be undone with a button on the page of versions, which
// stays longer than a toast would.
func restoreVersion(c *call) error {
	f, n, err := flowAndVersion(c)
	if err != nil {
		return err
	}
	tx := "restore-" + rand.Text()
	out, err := c.s.Library.RestoreVersion(c.Ctx(), c.Actor(), c.WorkspaceID(), f.ID, n, tx)
	if err != nil {
		return explainConflict(err)
	}
	to := "/flows/" + url.PathEscape(string(f.ID)) + "/versions"
	if out.Edit != nil {
		return c.Redirect(to + "?" + url.Values{"restored": {strconv.FormatInt(n, 10)}, "tx": {tx}}.Encode())
	}
	c.Toast(components.ToneOK, restoredText(n, out))
	return c.Redirect(to)
}

// undoRestore is POST /flows/{id}/versions/undo: it undoes a restore.
func undoRestore(c *call, f *flow.Flow) error {
	if err := c.s.Library.UndoEdit(c.Ctx(), c.Actor(), c.WorkspaceID(), f.ID, c.FormValue("tx")); err != nil {
		return explainConflict(err)
	}
	c.Toast(components.ToneOK, "The restore was undone.")
	return c.Redirect("/flows/" + url.PathEscape(string(f.ID)) + "/versions")
}

// restoredText returns the message after a restore that cannot be undone.
func restoredText(n int64, out *library.Restored) string {
	if !out.Changed {
		return "The draft is already equal to " + editorview.VersionName(n) + "."
	}
	return "The draft is now equal to " + editorview.VersionName(n) + ". The previous draft could not be read, so this cannot be undone."
}
