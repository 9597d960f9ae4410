package editor

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"sluice/flow"
	"sluice/handlers/web"
	editorview "sluice/views/editor"
	"sluice/views/layout"
)

func (s *Server) runningRoutes() []route {
	return []route{
		{http.MethodGet, "/flows/:flow/run", web.Editor, onDraft((*call).showRunForm)},
		{http.MethodPost, "/flows/:flow/run", web.Editor, onDraft((*call).startRun)},
		{http.MethodGet, "/flows/:flow/runs", web.Viewer, web.OnFlow((*call).showFlowRuns)},
		{http.MethodGet, "/flows/:flow/runs/:run/events", web.Viewer, streaming(web.OnFlow((*call).runEvents))},
		{http.MethodPost, "/flows/:flow/runs/:run/cancel", web.Editor, web.OnFlow((*call).stopRun)},
		{http.MethodGet, "/flows/:flow/data/:node", web.Viewer, (*call).showData},
		{http.MethodPost, "/flows/:flow/pin/:node", web.Editor, (*call).pin},
		{http.MethodPost, "/flows/:flow/unpin/:node", web.Editor, (*call).unpin},
	}
}

// targetNode is the node that a partial run is about.
func targetNode(a web.TestRunOptions) string {
	if a.Until != "" {
		return a.Until
	}
	return a.From
}

// showRunForm is GET /flows/{id}/run: what the draft asks for, or what keeps it
// from running.
func (c *call) showRunForm(d *draft) error {
	ask := web.TestRunOptions{Until: c.QueryParam("until"), From: c.QueryParam("from"), Parent: c.QueryParam("parent")}
	form, err := c.runForm(d, ask, nil)
	if err != nil {
		return err
	}
	return c.showRun(http.StatusOK, form)
}

func (c *call) showRun(status int, form editorview.RunForm) error {
	if c.IsFragment() {
		return c.Render(status, editorview.RunFormBody(form, "h2"))
	}
	p := c.Page("Run "+form.Flow, layout.SectionFlows)
	return c.Render(status, editorview.RunFormPage(p, form))
}

// runForm is the form with what was typed, or else with the values of the run
// before. A draft with problems lists them in the place of fields.
func (c *call) runForm(d *draft, ask web.TestRunOptions, typed *web.Inputs) (editorview.RunForm, error) {
	form := editorview.RunForm{FlowID: d.flow.ID, Flow: d.Name, Until: ask.Until, From: ask.From, Parent: ask.Parent}
	if n := d.Node(targetNode(ask)); n != nil {
		k := c.s.Kinds.For(n)
		form.Node, form.Sends = editorview.NodeTitle(n, k), k != nil && k.OutputsField != ""
	}
	form.Webhooks = c.webhooks(d)
	inputs, err := c.s.Runner.TrialInputs(c.Ctx(), c.WorkspaceID(), d.flow.ID, ask.Until)
	if e, ok := errors.AsType[*flow.Error](err); ok && len(e.Fields) > 0 {
		form.Problems = editorview.ProblemsOf(d.flow.ID, d.Document, c.s.Kinds, e.Fields)
		return form, nil
	}
	if err != nil {
		return form, err
	}
	last, err := c.lastInputs(d.flow.ID, ask.Parent)
	if err != nil {
		return form, err
	}
	form.Ran = last != nil
	for i := range inputs {
		form.Fields = append(form.Fields, web.InputField(&inputs[i], last, typed))
	}
	return form, nil
}

// webhooks counts the nodes that would send something.
func (c *call) webhooks(d *draft) (n int) {
	for i := range d.Nodes {
		if k := c.s.Kinds.Find(d.Nodes[i].Kind); k != nil && k.OutputsField != "" && !d.Nodes[i].Disabled {
			n++
		}
	}
	return n
}

// lastInputs are those of the given run, or of the last one that was started
// from the builder; nil if there is none.
func (c *call) lastInputs(flowID, runID string) (map[string]any, error) {
	if runID != "" {
		run, err := c.s.Store.FindRun(c.Ctx(), c.WorkspaceID(), flowID, runID)
		if err != nil {
			return nil, err
		}
		return run.Inputs, nil
	}
	runs, err := c.s.Store.ListRuns(c.Ctx(), flow.RunFilter{WorkspaceID: c.WorkspaceID(), FlowID: flowID, Limit: shownRuns})
	if err != nil {
		return nil, fmt.Errorf("find the last run of %s: %w", flowID, err)
	}
	for i := range runs {
		if runs[i].Trigger == flow.TriggerBuilder && runs[i].Erased == "" && runs[i].Inputs != nil {
			return runs[i].Inputs, nil
		}
	}
	return nil, nil
}

// startRun is POST /flows/{id}/run: a run of the draft begins, as far as its
// inputs are right.
func (c *call) startRun(d *draft) error {
	typed, err := c.readInputs()
	if err != nil {
		return err
	}
	started, err := c.tryDraft(d, typed)
	if err != nil {
		return c.refuseRun(d, typed, err)
	}
	c.s.Announce(d.flow.ID, "flow:run", map[string]string{"run": started.Run.ID})
	if c.IsFragment() {
		return c.JSON(http.StatusOK, map[string]string{"run": started.Run.ID})
	}
	return c.Redirect("/flows/" + d.flow.ID + "?run=" + started.Run.ID)
}

func (c *call) tryDraft(d *draft, typed *web.Inputs) (flow.Started, error) {
	s := flow.Start{
		WorkspaceID: c.WorkspaceID(), FlowID: d.flow.ID, UserID: c.Member.UserID, Trigger: flow.TriggerBuilder,
		TestRun: &flow.TestRun{Until: typed.Options.Until},
	}
	if typed.Filled {
		inputs, err := c.s.Runner.TrialInputs(c.Ctx(), c.WorkspaceID(), d.flow.ID, typed.Options.Until)
		if err != nil {
			return flow.Started{}, err
		}
		s.Given, s.Coerce = typed.Values(inputs), true
	}
	if typed.Options.Parent == "" {
		return c.s.Runner.StartRun(c.Ctx(), s)
	}
	return c.s.Runner.Rerun(c.Ctx(), flow.Rerun{Start: s, ParentRunID: typed.Options.Parent, From: typed.Options.From})
}

// refuseRun shows the form again, with what was typed and what is wrong with it.
func (c *call) refuseRun(d *draft, typed *web.Inputs, cause error) error {
	e, ok := errors.AsType[*flow.Error](cause)
	if !ok || e.Code == flow.CodeNotFound || e.Code == flow.CodeInternal {
		return cause
	}
	form, err := c.runForm(d, typed.Options, typed)
	if err != nil {
		return err
	}
	if blameFields(&form, e.Fields) == 0 && len(form.Problems.List) == 0 {
		form.Error = e.Message
	}
	return c.showRun(http.StatusUnprocessableEntity, form)
}

// blameFields puts problems beside the fields that they are about, and counts
// those that found one.
func blameFields(form *editorview.RunForm, problems []flow.Problem) (n int) {
	for _, p := range problems {
		name := strings.TrimPrefix(strings.TrimPrefix(p.Pointer, "/inputs"), "/")
		for i := range form.Fields {
			if f := &form.Fields[i]; f.Name == web.InputPrefix+name && f.Error == "" {
				f.Error = fieldTrouble(p)
				n++
			}
		}
	}
	return n
}

func fieldTrouble(p flow.Problem) string {
	if p.Code == "required" {
		return "The flow needs this."
	}
	return editorview.Sentence(p.Detail)
}

// stopRun is POST /flows/{id}/runs/{run}/cancel. Stopping what has ended does
// nothing.
func (c *call) stopRun(f *flow.Flow) error {
	run, err := c.s.Runner.CancelRun(c.Ctx(), c.WorkspaceID(), f.ID, c.Param("run"))
	if err != nil {
		return err
	}
	if c.IsFragment() {
		return c.NoContent(http.StatusNoContent)
	}
	return c.Redirect("/flows/" + f.ID + "?run=" + run.ID)
}

// shownRuns is how many runs the pane lists.
const shownRuns = 50

// showFlowRuns is GET /flows/{id}/runs: the last runs of the flow.
func (c *call) showFlowRuns(f *flow.Flow) error {
	list, err := c.flowRuns(f.ID, c.QueryParam("run"))
	if err != nil {
		return err
	}
	if c.IsFragment() {
		return c.Render(http.StatusOK, editorview.FlowRuns(list))
	}
	return c.Redirect("/flows/" + f.ID)
}

func (c *call) flowRuns(flowID, current string) (editorview.RunList, error) {
	list := editorview.RunList{FlowID: flowID, MayRun: c.MayEdit(), Now: c.s.Now()}
	runs, err := c.s.Store.ListRuns(c.Ctx(), flow.RunFilter{WorkspaceID: c.WorkspaceID(), FlowID: flowID, Limit: shownRuns})
	if err != nil {
		return list, fmt.Errorf("list the runs of %s: %w", flowID, err)
	}
	for i := range runs {
		m := c.mark(&runs[i])
		m.Current = m.ID == current
		list.Runs = append(list.Runs, m)
	}
	return list, nil
}

// mark is where a run stands, for the person who asks.
func (c *call) mark(run *flow.Run) editorview.RunMark {
	m := editorview.MarkOf(run, c.s.Now())
	m.MayRun = c.MayEdit()
	return m
}
