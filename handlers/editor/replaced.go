package editor

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/handlers/web"
	"sluice/views/components"
	editorview "sluice/views/editor"
)

// A program can replace a draft over the API while users are editing it. The edit log has
// the replacement as one transaction with its inverse, so users can undo it: from a note in
// the builder while it is recent, and on the page of versions.

// replacedFor is how long after a replacement the builder offers to undo it.
const replacedFor = time.Hour

// maxReplaced is the largest number of replacements on the page of versions, newest first.
const maxReplaced = 5

func (s *Server) replacedRoutes() []route {
	return []route{
		{http.MethodGet, "/flows/:flow/replaced", web.Editor, web.OnFlow((*call).showReplaced)},
		{http.MethodPost, "/flows/:flow/replaced/undo", web.Editor, web.Posted(web.OnFlow((*call).undoReplaced))},
	}
}

// listReplacements returns the replacements of a draft over the API that can be undone, newest
// first: at most limit, and none older than maxAge.
func (c *call) listReplacements(flowID flow.FlowID, maxAge time.Duration, limit int) ([]editorview.Replacement, error) {
	list, err := c.s.Store.ListUndoable(c.Ctx(), c.WorkspaceID(), flowID, document.TabAPI, c.s.Now().Add(-maxAge), limit)
	if err != nil {
		return nil, err
	}
	userName, out := c.UserNames(), make([]editorview.Replacement, len(list))
	for i, tx := range list {
		out[i] = editorview.Replacement{FlowID: string(flowID), TxID: tx.TxID, By: userName(tx.UserID), At: tx.CreatedAt, Now: c.s.Now()}
	}
	return out, nil
}

// newestReplacement returns the replacement that the builder shows. Its TxID is empty if
// there was no replacement within replacedFor.
func (c *call) newestReplacement(flowID flow.FlowID) (editorview.Replacement, error) {
	list, err := c.listReplacements(flowID, replacedFor, 1)
	if err != nil || len(list) == 0 {
		return editorview.Replacement{FlowID: string(flowID)}, err
	}
	return list[0], nil
}

// showReplaced is GET /flows/{id}/replaced: the note in the builder. ?keep=1 hides the note on
// this page only; other users still see it.
func (c *call) showReplaced(f *flow.Flow) error {
	r := editorview.Replacement{FlowID: string(f.ID)}
	if c.QueryParam("keep") == "" {
		var err error
		if r, err = c.newestReplacement(f.ID); err != nil {
			return err
		}
	} else if !c.IsFragment() {
		return c.Redirect("/flows/" + url.PathEscape(string(f.ID)))
	}
	return c.Render(http.StatusOK, editorview.Replaced(r))
}

// explainConflict replaces the error of an edit that lost too often against concurrent edits by
// one for users. Other errors are returned unchanged.
func explainConflict(err error) error {
	if errors.Is(err, &flow.Error{Code: document.CodeEditsMissed}) {
		return flow.Errorf(document.CodeEditsMissed, "Others are editing the draft right now. Try again in a moment.")
	}
	return err
}

// undoReplaced is POST /flows/{id}/replaced/undo. Open builders receive the inverse edits like
// those of another user. Later edits of other fields are kept.
func (c *call) undoReplaced(f *flow.Flow) error {
	err := c.s.Library.UndoEdit(c.Ctx(), c.Actor(), c.WorkspaceID(), f.ID, c.FormValue("tx"))
	if err != nil {
		return explainConflict(err)
	}
	c.Toast(components.ToneOK, "The replacement was undone.")
	if c.IsFragment() {
		return c.Render(http.StatusOK, editorview.Replaced(editorview.Replacement{FlowID: string(f.ID)}))
	}
	return c.Redirect("/flows/" + url.PathEscape(string(f.ID)) + "/versions")
}
