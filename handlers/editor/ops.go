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

// maxOps bounds the body of a transaction; what is in it has limits of its own.
const maxOps = 2 << 20

// mostMissed is how many transactions a page catches up with; beyond that it is
// quicker to load it again.
const mostMissed = 500

// opsAnswer is what the canvas reads (static/src/canvas/README.md).
type opsAnswer struct {
	Rev int64 `json:"rev"`
	// Ops are fields that hold something else now than was sent, such as the name
	// of a credential where a secret was typed.
	Ops []document.Edit `json:"ops,omitempty"`
	// HTML are the nodes that look different, Problems the list beside them.
	HTML     string     `json:"html,omitempty"`
	Problems string     `json:"problems,omitempty"`
	Missed   []missedTx `json:"missed,omitempty"`
}

// missedTx is a transaction of somebody else.
type missedTx struct {
	Rev  int64           `json:"rev"`
	Tab  string          `json:"tab"`
	TxID string          `json:"txid"`
	Ops  []document.Edit `json:"ops"`
	// HTML and Problems are as the draft is now; only the newest has them.
	HTML     string `json:"html,omitempty"`
	Problems string `json:"problems,omitempty"`
}

// opsRefused says why a transaction is not carried out.
type opsRefused struct {
	Detail string `json:"detail"`
	Node   string `json:"node,omitempty"`
}

// takeOps is POST /flows/{id}/ops: one transaction of the canvas. A browser that
// leaves the page sends it too, and reads no answer.
func (c *call) takeOps() error {
	r := c.Request()
	body, err := io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, maxOps))
	if err != nil {
		return c.refuseOps(flow.Errorf(flow.CodeBodyTooLarge, "This change is larger than %s. Make it in smaller parts.", flow.Size(maxOps)))
	}
	c.EndOfForm()
	req, err := document.DecodeEditRequest(body)
	if err != nil {
		return c.refuseOps(err)
	}
	sent := req.Ops
	result, err := c.s.Library.EditFlow(c.Ctx(), c.WorkspaceID(), c.Param("flow"), c.Member.UserID, req)
	if missed, ok := errors.AsType[*document.EditsMissed](err); ok {
		return c.overtaken(missed)
	}
	if err != nil {
		return c.refuseOps(err)
	}
	answer := opsAnswer{Rev: result.Rev, Ops: document.Replaced(sent, result.Ops)}
	d := &draft{Document: result.Document, problems: result.Problems, flow: &flow.Flow{ID: c.Param("flow"), WorkspaceID: c.WorkspaceID()}}
	if answer.HTML, answer.Problems, err = c.repainted(d, result.Ops); err != nil {
		return err
	}
	return c.json(http.StatusOK, answer)
}

// repainted renders what looks different after edits: the nodes, and unless
// nodes only moved, the list of problems.
func (c *call) repainted(d *draft, ops []document.Edit) (nodes, problems string, err error) {
	if moved(ops) || d.Document == nil {
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

// moved tells that edits only change where things lie.
func moved(ops []document.Edit) bool {
	for i := range ops {
		if ops[i].Op != document.OpMove && ops[i].Op != document.OpGroup {
			return false
		}
	}
	return true
}

// overtaken answers with what others did first.
func (c *call) overtaken(missed *document.EditsMissed) error {
	d, err := c.findDraft()
	if err != nil {
		return c.refuseOps(err)
	}
	list, err := c.transactions(d, missed.Since)
	if err != nil {
		return err
	}
	return c.json(http.StatusConflict, opsAnswer{Rev: list[len(list)-1].Rev, Missed: list})
}

// missedOps is GET /flows/{id}/ops?since=: what a page has not heard of.
func (c *call) missedOps() error {
	since, err := revOf(c.QueryParam("since"))
	if err != nil {
		return c.refuseOps(err)
	}
	d, list, err := c.since(c.WorkspaceID(), c.Param("flow"), since)
	if err != nil {
		return c.refuseOps(err)
	}
	answer := opsAnswer{Rev: since}
	if answer.Missed, err = c.transactions(d, list); err != nil {
		return err
	}
	if len(list) > 0 {
		answer.Rev = list[len(list)-1].Rev
	}
	return c.json(http.StatusOK, answer)
}

// since finds the transactions after a revision, and the draft after them.
func (c *call) since(ws, flowID string, rev int64) (*draft, []document.EditTx, error) {
	list, err := c.s.Library.EditsSince(c.Ctx(), ws, flowID, rev, mostMissed)
	if err != nil {
		return nil, nil, err
	}
	d, err := c.findDraft()
	if err != nil {
		return nil, nil, err
	}
	if len(list) == mostMissed && list[len(list)-1].Rev < d.flow.Rev {
		return nil, nil, flow.Errorf(document.CodeEditsGone, "The draft has changed too much elsewhere. Load the page again.")
	}
	return d, list, nil
}

// transactions are written for the canvas: the last one brings the looks of all
// nodes that any of them changed.
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
	last.HTML, last.Problems, err = c.repainted(d, ops)
	return out, err
}

// refuseOps answers the canvas in its own words; what a person cannot act on
// goes the way of all errors.
func (c *call) refuseOps(err error) error {
	e, ok := errors.AsType[*flow.Error](err)
	if !ok || e.Code == flow.CodeInternal {
		return err
	}
	refused := opsRefused{Detail: e.Message, Node: e.Node}
	if len(e.Fields) > 0 {
		refused.Detail, refused.Node = editorview.Sentence(e.Fields[0].Detail), e.Fields[0].Node
	}
	status, known := web.Statuses[e.Code]
	if !known {
		status = http.StatusUnprocessableEntity
	}
	return c.json(status, refused)
}

// json answers a script of ours.
func (c *call) json(status int, v any) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	c.LimitWrite()
	return c.JSONBlob(status, flow.EncodeJSON(v))
}
