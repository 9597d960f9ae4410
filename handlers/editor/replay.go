package editor

import (
	"fmt"
	"net/http"

	"sluice/flow"
	"sluice/flow/document"
	editorview "sluice/views/editor"
)

// findRunDocument returns the document that a run executes.
func (c *call) findRunDocument(run *flow.Run) (*flow.Document, error) {
	data, err := c.s.Store.FindDocument(c.Ctx(), c.WorkspaceID(), run.DocumentHash)
	if err != nil {
		return nil, fmt.Errorf("find the document of %s: %w", run.ID, err)
	}
	doc, _ := document.ParseDocument(data)
	if doc == nil {
		return nil, fmt.Errorf("the document of %s cannot be read", run.ID)
	}
	return doc, nil
}

// draftOfRun returns the draft if it is still equivalent to the document of a run,
// else that document, read-only.
func (c *call) draftOfRun(d *draft, run *flow.Run) (*draft, error) {
	doc, err := c.findRunDocument(run)
	if err != nil || document.Covers(d.Document, doc) {
		return d, err
	}
	d = d.withDocument(doc)
	d.problems = document.Validate(doc, c.s.Kinds)
	return d, nil
}

// showReplay is GET /flows/{id}?run=: the editor with the states of a run. If
// the draft has changed since, the document of the run is shown, read-only.
func (c *call) showReplay(d *draft, runID flow.RunID) error {
	run, err := c.s.Store.FindRun(c.Ctx(), c.WorkspaceID(), d.flow.ID, runID)
	if err != nil {
		return err
	}
	if d, err = c.draftOfRun(d, run); err != nil {
		return err
	}
	result, err := resultOf(c, d.flow, run)
	if err != nil {
		return err
	}
	m, err := c.shownMark(run)
	if err != nil {
		return err
	}
	return c.builder(http.StatusOK, d, func(b *editorview.BuilderPage) {
		b.Pane, b.Fill.Result = editorview.PaneResult, editorview.Result(result)
		b.Fill.RunBar = editorview.RunBar(m, c.s.Now().UnixMilli())
		if d.readOnlyVersion {
			b.Replay = string(run.ID)
		}
	})
}

// fillRunning adds the result before the first run and the list of runs to the editor.
func (c *call) fillRunning(d *draft, fill *editorview.BuilderFill) error {
	list, err := c.flowRuns(d.flow.ID, c.QueryParam("run"))
	if err != nil {
		return err
	}
	fill.Runs, fill.Result = editorview.FlowRuns(list), editorview.Result(firstResult(c, d))
	if c.MayEdit() {
		fill.Dialogs = append(fill.Dialogs, editorview.RunDialog(string(d.flow.ID)))
	}
	return nil
}
