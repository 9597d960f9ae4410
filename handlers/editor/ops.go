package editor

import (
	"bytes"
	"errors"
	"net/http"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/wording"
	"sluice/handlers/web"
	editorview "sluice/views/editor"
)

// maxOps bounds the body of a transaction in bytes. Its contents have further
// limits.
const maxOps = 2 << 20

// maxMissed is the largest number of transactions that are sent to a page. If it
// missed more, reloading is faster.
const maxMissed = 500

// maxMissedOps is the largest total number of edits in these transactions.
const maxMissedOps = 1000

// opsResponse is the response to the canvas. Its format is documented in
// static/src/canvas/README.md.
type opsResponse struct {
	Rev int64 `json:"rev"`
	// Ops are the edits whose value the server replaced, such as a typed secret by
	// the name of a credential.
	Ops []document.Edit `json:"ops,omitempty"`
	// HTML has the changed nodes, and Problems the list of problems.
	HTML     string     `json:"html,omitempty"`
	Problems string     `json:"problems,omitempty"`
	Missed   []missedTx `json:"missed,omitempty"`
}

// missedTx is a transaction that the page has not applied yet.
type missedTx struct {
	Rev  int64           `json:"rev"`
	Tab  string          `json:"tab"`
	TxID string          `json:"txid"`
	Ops  []document.Edit `json:"ops"`
	// HTML and Problems describe the current draft; only the newest transaction has
	// them.
	HTML     string `json:"html,omitempty"`
	Problems string `json:"problems,omitempty"`
}

// opsError is the response to a refused transaction.
type opsError struct {
	Detail string `json:"detail"`
	Node   string `json:"node,omitempty"`
}

// applyOps is POST /flows/{id}/ops: it applies one transaction of the canvas. When
// the page is closed, browsers send it as a beacon and ignore the response.
func (c *call) applyOps() error {
	body, err := c.ReadBody(maxOps)
	if e, ok := errors.AsType[*flow.Error](err); ok {
		return c.respondOpsError(e)
	}
	if err != nil {
		return c.respondOpsError(flow.Errorf(flow.CodeBodyTooLarge, "This change is larger than %s. Make it in smaller parts.", flow.Size(maxOps)))
	}
	c.EndOfForm()
	req, err := document.DecodeEditRequest(body)
	if err != nil {
		return c.respondOpsError(err)
	}
	sent := req.Ops
	result, err := c.s.Library.EditFlow(c.Ctx(), c.WorkspaceID(), flow.FlowID(c.Param("flow")), c.Member.UserID, req)
	if missed, ok := errors.AsType[*document.EditsMissed](err); ok {
		return c.respondConflict(missed)
	}
	if err != nil {
		return c.respondOpsError(err)
	}
	response := opsResponse{Rev: result.Rev, Ops: document.Replaced(sent, result.Ops)}
	d := &draft{Document: result.Document, problems: result.Problems, flow: &flow.Flow{ID: flow.FlowID(c.Param("flow")), WorkspaceID: c.WorkspaceID()}}
	if response.HTML, response.Problems, err = c.renderChanged(d, result.Ops); err != nil {
		return err
	}
	return c.respondJSON(http.StatusOK, response)
}

// renderChanged renders the nodes that edits changed and the list of problems. If
// the edits only move or group nodes, it renders nothing.
func (c *call) renderChanged(d *draft, ops []document.Edit) (nodes, problems string, err error) {
	if onlyMoves(ops) || d.Document == nil {
		return "", "", nil
	}
	var b bytes.Buffer
	if changed := document.Changed(ops); len(changed) > 0 {
		faces, err := c.faces(d, changed)
		if err != nil {
			return "", "", err
		}
		if err := editorview.CanvasNodes(faces).Render(c.Ctx(), &b); err != nil {
			return "", "", err
		}
		nodes = b.String()
		b.Reset()
	}
	panel, err := c.problemsOf(d)
	if err != nil {
		return "", "", err
	}
	err = editorview.Problems(panel).Render(c.Ctx(), &b)
	return nodes, b.String(), err
}

// onlyMoves reports whether edits change only positions and groups.
func onlyMoves(ops []document.Edit) bool {
	for i := range ops {
		if ops[i].Op != document.OpMove && ops[i].Op != document.OpGroup {
			return false
		}
	}
	return true
}

// respondConflict responds with the transactions that were applied before this one.
// The canvas rebases its transaction onto them and sends it again.
func (c *call) respondConflict(missed *document.EditsMissed) error {
	if err := checkMissed(missed.Since); err != nil {
		return c.respondOpsError(err)
	}
	d, err := c.findDraft()
	if err != nil {
		return c.respondOpsError(err)
	}
	list, err := c.transactions(d, missed.Since)
	if err != nil {
		return err
	}
	return c.respondJSON(http.StatusConflict, opsResponse{Rev: list[len(list)-1].Rev, Missed: list})
}

// missedOps is GET /flows/{id}/ops?since=: the transactions after a revision.
func (c *call) missedOps() error {
	since, err := parseRevision(c.QueryParam("since"))
	if err != nil {
		return c.respondOpsError(err)
	}
	d, list, err := c.findMissed(c.WorkspaceID(), flow.FlowID(c.Param("flow")), since)
	if err != nil {
		return c.respondOpsError(err)
	}
	response := opsResponse{Rev: since}
	if response.Missed, err = c.transactions(d, list); err != nil {
		return err
	}
	if len(list) > 0 {
		response.Rev = list[len(list)-1].Rev
	}
	return c.respondJSON(http.StatusOK, response)
}

// findMissed returns the transactions after a revision, and the draft after them.
func (c *call) findMissed(ws flow.WorkspaceID, flowID flow.FlowID, rev int64) (*draft, []document.EditTx, error) {
	list, err := c.s.Library.EditsSince(c.Ctx(), ws, flowID, rev, maxMissed)
	if err != nil {
		return nil, nil, err
	}
	if err := checkMissed(list); err != nil {
		return nil, nil, err
	}
	d, err := c.findDraft()
	if err != nil {
		return nil, nil, err
	}
	if len(list) == maxMissed && list[len(list)-1].Rev < d.flow.Rev {
		return nil, nil, errEditsGone()
	}
	return d, list, nil
}

// checkMissed returns errEditsGone if reloading the page is faster than applying the missed
// transactions, for example after a large draft was replaced over the API. Unsaved edits survive
// the reload.
func checkMissed(list []document.EditTx) error {
	n := 0
	for i := range list {
		n += len(list[i].Ops)
	}
	if n > maxMissedOps || n > maxMissed && len(flow.EncodeJSON(list)) > maxOps {
		return errEditsGone()
	}
	return nil
}

// errEditsGone returns the error for a page that missed too many edits. The canvas then loads
// the whole draft.
func errEditsGone() error {
	return flow.Errorf(document.CodeEditsGone, "The draft has changed too much elsewhere. Load the page again.")
}

// transactions converts transactions for the canvas. Only the last one has HTML,
// which covers the changes of all.
func (c *call) transactions(d *draft, list []document.EditTx) ([]missedTx, error) {
	out := make([]missedTx, len(list))
	var ops []document.Edit
	for i := range list {
		out[i] = missedTx{Rev: list[i].Rev, Tab: list[i].Tab, TxID: list[i].TxID, Ops: list[i].Ops}
		ops = append(ops, list[i].Ops...)
	}
	if len(out) == 0 {
		return out, nil
	}
	var err error
	last := &out[len(out)-1]
	last.HTML, last.Problems, err = c.renderChanged(d, ops)
	return out, err
}

// respondOpsError responds with an error in the format of the canvas. Internal
// errors are handled like all others.
func (c *call) respondOpsError(err error) error {
	e, ok := errors.AsType[*flow.Error](err)
	if !ok || e.Code == flow.CodeInternal {
		return err
	}
	refused := opsError{Detail: e.Message, Node: e.Node}
	if len(e.Fields) > 0 {
		refused.Detail, refused.Node = wording.Sentence(e.Fields[0].Detail), e.Fields[0].Node
	}
	return c.respondJSON(web.StatusOf(e.Code), refused)
}

// respondJSON responds to a script with JSON that must not be cached.
func (c *call) respondJSON(status int, v any) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	c.LimitWrite()
	return c.JSONBlob(status, flow.EncodeJSON(v))
}
