package editor

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/handlers/web"
	editorview "sluice/views/editor"
)

// maxOps bounds the body of a transaction in bytes. Its contents have limits of
// their own.
const maxOps = 2 << 20

// maxMissed is how many transactions a page catches up with. With more,
// reloading is faster.
const maxMissed = 500

// maxMissedOps is how many edits these may have.
const maxMissedOps = 1000

// opsResponse is the response to the canvas. Its format is documented in
// static/src/canvas/README.md.
type opsResponse struct {
	Rev int64 `json:"rev"`
	// Ops are edits whose value was replaced, such as the name of a credential in
	// place of a typed secret.
	Ops []document.Edit `json:"ops,omitempty"`
	// HTML is the rendered nodes that changed, Problems the list of problems.
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
	// HTML and Problems describe the current draft; only the newest one has them.
	HTML     string `json:"html,omitempty"`
	Problems string `json:"problems,omitempty"`
}

// opsError is why a transaction was refused.
type opsError struct {
	Detail string `json:"detail"`
	Node   string `json:"node,omitempty"`
}

// applyOps is POST /flows/{id}/ops: one transaction of the canvas. Browsers
// also send it as a beacon when the page is closed, and then ignore the
// response.
func (c *call) applyOps() error {
	r := c.Request()
	body, err := io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, maxOps))
	if err != nil {
		return c.respondOpsError(flow.Errorf(flow.CodeBodyTooLarge, "This change is larger than %s. Make it in smaller parts.", flow.Size(maxOps)))
	}
	c.EndOfForm()
	req, err := document.DecodeEditRequest(body)
	if err != nil {
		return c.respondOpsError(err)
	}
	sent := req.Ops
	result, err := c.s.Library.EditFlow(c.Ctx(), c.WorkspaceID(), c.Param("flow"), c.Member.UserID, req)
	if missed, ok := errors.AsType[*document.EditsMissed](err); ok {
		return c.respondConflict(missed)
	}
	if err != nil {
		return c.respondOpsError(err)
	}
	answer := opsResponse{Rev: result.Rev, Ops: document.Replaced(sent, result.Ops)}
	d := &draft{Document: result.Document, problems: result.Problems, flow: &flow.Flow{ID: c.Param("flow"), WorkspaceID: c.WorkspaceID()}}
	if answer.HTML, answer.Problems, err = c.renderChanged(d, result.Ops); err != nil {
		return err
	}
	return c.json(http.StatusOK, answer)
}

// renderChanged renders what edits changed: the nodes and, unless nodes only
// moved, the list of problems.
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
	err = editorview.Problems(c.problemsOf(d)).Render(c.Ctx(), &b)
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

// respondConflict responds with the transactions that were applied first. The
// canvas rebases its own onto them and sends it again.
func (c *call) respondConflict(missed *document.EditsMissed) error {
	if err := tooMuch(missed.Since); err != nil {
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
	return c.json(http.StatusConflict, opsResponse{Rev: list[len(list)-1].Rev, Missed: list})
}

// missedOps is GET /flows/{id}/ops?since=: the transactions after a revision.
func (c *call) missedOps() error {
	since, err := revOf(c.QueryParam("since"))
	if err != nil {
		return c.respondOpsError(err)
	}
	d, list, err := c.since(c.WorkspaceID(), c.Param("flow"), since)
	if err != nil {
		return c.respondOpsError(err)
	}
	answer := opsResponse{Rev: since}
	if answer.Missed, err = c.transactions(d, list); err != nil {
		return err
	}
	if len(list) > 0 {
		answer.Rev = list[len(list)-1].Rev
	}
	return c.json(http.StatusOK, answer)
}

// since returns the transactions after a revision, and the draft after them.
func (c *call) since(ws flow.WorkspaceID, flowID string, rev int64) (*draft, []document.EditTx, error) {
	list, err := c.s.Library.EditsSince(c.Ctx(), ws, flowID, rev, maxMissed)
	if err != nil {
		return nil, nil, err
	}
	if err := tooMuch(list); err != nil {
		return nil, nil, err
	}
	d, err := c.findDraft()
	if err != nil {
		return nil, nil, err
	}
	if len(list) == maxMissed && list[len(list)-1].Rev < d.flow.Rev {
		return nil, nil, errTooMuch()
	}
	return d, list, nil
}

// tooMuch returns an error for transactions that a page catches up with slower than it
// loads, such as the replacement of a large draft over the API. Unsaved edits survive the
// reload.
func tooMuch(list []document.EditTx) error {
	n := 0
	for i := range list {
		n += len(list[i].Ops)
	}
	if n > maxMissedOps || n > maxMissed && len(flow.EncodeJSON(list)) > maxOps {
		return errTooMuch()
	}
	return nil
}

// errTooMuch is the error if a canvas has missed more edits than it can take over: then it
// must load the whole draft.
func errTooMuch() error {
	return flow.Errorf(document.CodeEditsGone, "The draft has changed too much elsewhere. Load the page again.")
}

// transactions converts transactions for the canvas. Only the last one has
// rendered nodes, for all changes together.
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
		refused.Detail, refused.Node = editorview.Sentence(e.Fields[0].Detail), e.Fields[0].Node
	}
	status, known := web.Statuses[e.Code]
	if !known {
		status = http.StatusUnprocessableEntity
	}
	return c.json(status, refused)
}

// json responds to a script with JSON.
func (c *call) json(status int, v any) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	c.LimitWrite()
	return c.JSONBlob(status, flow.EncodeJSON(v))
}
