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

// A draft that a program replaces over the API changes under the people who draw it. The
// edit log has the replacement as one transaction with its inverse, so that they can undo
// it: from a note in the builder while it is new, and on the page of versions.

// replacedFor is how long after a replacement the builder offers to undo it.
const replacedFor = time.Hour

// maxReplaced is how many replacements the page of versions lists at most, newest first.
const maxReplaced = 5

func (s *Server) replacedRoutes() []route {
	return []route{
		{http.MethodGet, "/flows/:flow/replaced", web.Editor, web.OnFlow((*call).showReplaced)},
		{http.MethodPost, "/flows/:flow/replaced/undo", web.Editor, web.Posted(web.OnFlow((*call).undoReplaced))},
	}
}

// replaced returns the replacements of a draft over the API that can be undone, newest first:
// at most limit, and none that is older than since.
func (c *call) replaced(flowID string, since time.Duration, limit int) ([]editorview.Replacement, error) {
	list, err := c.s.Store.ListUndoable(c.Ctx(), c.WorkspaceID(), flowID, document.TabAPI, c.s.Now().Add(-since), limit)
	if err != nil {
		return nil, err
	}
	who, out := c.UserNames(), make([]editorview.Replacement, len(list))
	for i, tx := range list {
		out[i] = editorview.Replacement{FlowID: flowID, TxID: tx.TxID, By: who(tx.UserID), At: tx.CreatedAt, Now: c.s.Now()}
	}
	return out, nil
}

// newestReplaced returns the replacement that the builder shows; its TxID is empty if there
// is no recent one.
func (c *call) newestReplaced(flowID string) (editorview.Replacement, error) {
	list, err := c.replaced(flowID, replacedFor, 1)
	if err != nil || len(list) == 0 {
		return editorview.Replacement{FlowID: flowID}, err
	}
	return list[0], nil
}

// showReplaced is GET /flows/{id}/replaced: the note in the builder. ?keep=1 hides the note in
// this page only; others still see it.
func (c *call) showReplaced(f *flow.Flow) error {
	r := editorview.Replacement{FlowID: f.ID}
	if c.QueryParam("keep") == "" {
		var err error
		if r, err = c.newestReplaced(f.ID); err != nil {
			return err
		}
	} else if !c.IsFragment() {
		return c.Redirect("/flows/" + url.PathEscape(f.ID))
	}
	return c.Render(http.StatusOK, editorview.Replaced(r))
}

// undoReplaced is POST /flows/{id}/replaced/undo. Open builders get the inverse edits like
// those of another person. Later edits of other fields stay.
func (c *call) undoReplaced(f *flow.Flow) error {
	err := c.s.Library.UndoEdit(c.Ctx(), c.WorkspaceID(), f.ID, c.Member.UserID, c.FormValue("tx"))
	if errors.Is(err, &flow.Error{Code: document.CodeEditsMissed}) {
		return flow.Errorf(document.CodeEditsMissed, "Others are editing the draft right now. Try again in a moment.")
	}
	if err != nil {
		return err
	}
	if err := c.Audit("flow.edit", f.ID, f.Name); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "The replacement was undone.")
	if c.IsFragment() {
		return c.Render(http.StatusOK, editorview.Replaced(editorview.Replacement{FlowID: f.ID}))
	}
	return c.Redirect("/flows/" + url.PathEscape(f.ID) + "/versions")
}
