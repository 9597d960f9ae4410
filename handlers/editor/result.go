package editor

import (
	"net/http"
	"slices"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/handlers/web"
	"sluice/markdown"
	"sluice/views/components"
	editorview "sluice/views/editor"
)

// showResult is GET /flows/{id}/runs/{run}/result: the inputs and outputs of a run,
// and the next step after a success, which is to publish the draft.
func (c *call) showResult(f *flow.Flow) error {
	run, err := c.s.Store.FindRun(c.Ctx(), c.WorkspaceID(), f.ID, flow.RunID(c.Param("run")))
	if err != nil {
		return err
	}
	m := c.mark(run)
	r := editorview.ResultPane{FlowID: string(f.ID), Run: &m, Now: c.s.Now()}
	if run.Erased != "" {
		r.Erased = "The content of this run was erased: it was not saved, or its retention period is over."
		return c.Render(http.StatusOK, editorview.Result(r))
	}
	doc, err := c.findRunDocument(run)
	if err != nil {
		return err
	}
	if run.Error != nil && doc.Node(run.Error.Node) != nil {
		r.Failed = web.NodeLabel(doc, run.Error.Node)
	}
	if r.Outputs, err = c.resultOutputs(run, doc); err != nil {
		return err
	}
	open, err := web.OpenQuestions(c.Ctx(), c.s.Store, run, c.s.Now())
	if err != nil {
		return err
	}
	for i := range open {
		r.Questions = append(r.Questions, web.ApprovalPath(open[i].RunID, open[i].Path))
	}
	for _, in := range contract.Inputs(doc, c.s.Kinds) {
		if value, given := run.Inputs.Lookup(in.Name); given {
			r.Inputs = append(r.Inputs, components.ValueView{Name: in.Name, Value: value})
		}
	}
	if run.State == flow.RunSucceeded && c.MayEdit() {
		state, err := publishState(c, f)
		if err != nil {
			return err
		}
		switch {
		case !state.Changed:
			r.Live = state.Live
		case run.Draft && state.Problems == 0:
			r.Publish = state.Next
		}
	}
	return c.Render(http.StatusOK, editorview.Result(r))
}

// resultOutputs returns the outputs of a run. An output that is the label of a
// classification also has the scores of all labels.
func (c *call) resultOutputs(run *flow.Run, doc *flow.Document) (list []editorview.ResultOutput, err error) {
	var steps []flow.Step
	left := markdown.MaxText
	for _, o := range contract.Outputs(doc, c.s.Kinds) {
		value, given := run.Outputs.Lookup(o.Name)
		if !given {
			continue
		}
		out := editorview.ResultOutput{ValueView: components.ValueView{Name: o.Name, Value: value, More: valueURL(run, o.Node, "output", "value")}}
		if from := c.labelSource(doc, o.Node); from != "" {
			if steps == nil {
				if steps, err = c.s.Store.FindSteps(c.Ctx(), c.WorkspaceID(), run.ID); err != nil {
					return nil, err
				}
			}
			addScores(&out, doc, steps, from)
		}
		if text, isText := value.(string); isText && len(text) <= left && markdown.Is(text) {
			left -= len(text)
			out.Rendered = markdown.HTML(text)
		}
		list = append(list, out)
	}
	return list, nil
}

// labelSource returns the classifying node whose label feeds an output node, or "".
func (c *call) labelSource(doc *flow.Document, output string) string {
	for _, e := range doc.Edges {
		node, port := e.Source()
		if e.ToNode() != output || port != "label" {
			continue
		}
		k := c.s.Kinds.For(doc.Node(node))
		if k != nil && slices.ContainsFunc(k.Outputs, func(p flow.Port) bool { return p.Name == "scores" }) {
			return node
		}
	}
	return ""
}

// addScores adds the scores of the labels of a step, if its label is the value of
// the output.
func addScores(out *editorview.ResultOutput, doc *flow.Document, steps []flow.Step, node string) {
	value, isText := out.Value.(string) // comparing other dynamic types with == may panic
	for i := range steps {
		s := &steps[i]
		if label, ok := s.Outputs["label"].(string); s.Path != node || !ok || !isText || label != value {
			continue
		}
		out.From = web.NodeLabel(doc, node)
		list := scoresIn(s.Outputs)
		for _, label := range list[:min(len(list), resultScores)] {
			out.Scores = append(out.Scores, editorview.LabelScore(label))
		}
	}
}
