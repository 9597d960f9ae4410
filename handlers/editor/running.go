package editor

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/library"
	"sluice/flow/wording"
	"sluice/handlers/web"
	editorview "sluice/views/editor"
	"sluice/views/layout"
)

// runningRoutes returns the routes of test runs, pins and the data of nodes.
func (s *Server) runningRoutes() []route {
	return []route{
		{http.MethodGet, "/flows/:flow/run", web.Editor, onDraft((*call).showRunForm)},
		{http.MethodPost, "/flows/:flow/run", web.Editor, onDraft((*call).startRun)},
		{http.MethodGet, "/flows/:flow/runs", web.Viewer, web.OnFlow((*call).showFlowRuns)},
		{http.MethodGet, "/flows/:flow/runs/:run/events", web.Viewer, streaming(web.OnFlow((*call).runEvents))},
		{http.MethodGet, "/flows/:flow/runs/:run/result", web.Viewer, web.OnFlow((*call).showResult)},
		{http.MethodPost, "/flows/:flow/runs/:run/cancel", web.Editor, web.OnFlow((*call).cancelRun)},
		{http.MethodGet, "/flows/:flow/data/:node", web.Viewer, (*call).showData},
		{http.MethodPost, "/flows/:flow/pin/:node", web.Editor, pin},
		{http.MethodPost, "/flows/:flow/unpin/:node", web.Editor, unpin},
	}
}

// targetNode returns the node at which a partial run ends or starts.
func targetNode(a web.TestRunOptions) string {
	if a.Until != "" {
		return a.Until
	}
	return a.From
}

// showRunForm is GET /flows/{id}/run: the inputs of the draft, or the problems
// that keep it from running.
func (c *call) showRunForm(d *draft) error {
	options := web.TestRunOptions{Until: c.QueryParam("until"), From: c.QueryParam("from"), Parent: c.QueryParam("parent")}
	form, err := c.runForm(d, options, nil)
	if err != nil {
		return err
	}
	return c.showRun(http.StatusOK, form)
}

// showRun renders the form in the dialog, or without scripts as a page.
func (c *call) showRun(status int, form editorview.RunForm) error {
	if c.IsFragment() {
		return c.Render(status, editorview.RunFormBody(form, "h2"))
	}
	p := c.Page("Run "+form.Flow, layout.SectionFlows)
	return c.Render(status, editorview.RunFormPage(p, form))
}

// runForm returns the form with the submitted values, or else with the inputs of the
// last run or the examples. If the draft has problems, they replace the fields.
func (c *call) runForm(d *draft, options web.TestRunOptions, typed *web.Inputs) (editorview.RunForm, error) {
	form := editorview.RunForm{FlowID: string(d.flow.ID), Flow: d.Name, LiveVersion: d.flow.LiveVersion, Until: options.Until, From: options.From, Parent: options.Parent}
	if n := d.Node(targetNode(options)); n != nil {
		k := c.s.Kinds.For(n)
		form.Node, form.Sends = document.NodeTitle(n, k), k != nil && k.OutputsField != ""
	}
	form.Webhooks, form.Flows, form.Drafts = c.countWebhooks(d), c.runsFlows(d), options.Drafts
	inputs, err := c.s.Runner.DraftInputs(c.Ctx(), c.WorkspaceID(), d.flow.ID, options.Until)
	if e, ok := errors.AsType[*flow.Error](err); ok && len(e.Fields) > 0 {
		form.Problems = editorview.ProblemsOf(string(d.flow.ID), d.Document, c.s.Kinds, e.Fields, nil)
		return form, nil
	}
	if err != nil {
		return form, err
	}
	if form.Agents, err = agentWrites(c, d.Document); err != nil {
		return form, err
	}
	last, err := c.lastInputs(d.flow.ID, flow.RunID(options.Parent))
	if err != nil {
		return form, err
	}
	if form.Ran = last != nil; !form.Ran && options.Parent == "" {
		last = exampleInputs(inputs)
	}
	for i := range inputs {
		form.Fields = append(form.Fields, web.InputField(&inputs[i], last, typed))
	}
	return form, nil
}

// exampleInputs returns the examples of inputs, so that the first run needs only one
// click. It skips files, because an example file is not in the workspace.
func exampleInputs(inputs []contract.Input) *flow.Object {
	values := &flow.Object{}
	for i := range inputs {
		if in := &inputs[i]; in.HasExample && in.Type != flow.TypeFile {
			values.Set(in.Name, in.Example)
		}
	}
	return values
}

// countWebhooks returns the number of active webhook nodes. Test runs call them too.
func (c *call) countWebhooks(d *draft) (n int) {
	for i := range d.Nodes {
		if k := c.s.Kinds.Find(d.Nodes[i].Kind); k != nil && k.OutputsField != "" && !d.Nodes[i].Disabled {
			n++
		}
	}
	return n
}

// runsFlows reports whether an active node runs another flow. If so, the run form offers to run
// the drafts of these flows.
func (c *call) runsFlows(d *draft) bool {
	return slices.ContainsFunc(d.Nodes, func(n flow.Node) bool {
		k := c.s.Kinds.Find(n.Kind)
		return k != nil && k.StartsRuns() && !n.Disabled
	})
}

// lastInputs returns the inputs of the given run, or if runID is empty, of the last
// run that was started in the builder. It returns nil without such a
// run.
func (c *call) lastInputs(flowID flow.FlowID, runID flow.RunID) (*flow.Object, error) {
	if runID != "" {
		run, err := c.s.Store.FindRun(c.Ctx(), c.WorkspaceID(), flowID, runID)
		if err != nil {
			return nil, err
		}
		return run.Inputs, nil
	}
	list, err := c.s.Store.ListRunRows(c.Ctx(), flow.RunQuery{WorkspaceID: c.WorkspaceID(), FlowID: flowID, Trigger: flow.TriggerBuilder, Limit: maxRuns})
	if err != nil {
		return nil, fmt.Errorf("find the last run of %s: %w", flowID, err)
	}
	for i := range list.Rows {
		if list.Rows[i].Erased != "" {
			continue
		}
		run, err := c.s.Store.FindRun(c.Ctx(), c.WorkspaceID(), flowID, list.Rows[i].ID)
		if err != nil && !errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) { // deleted in the meantime
			return nil, err
		}
		if run != nil && run.Inputs != nil {
			return run.Inputs, nil
		}
	}
	return nil, nil
}

// startRun is POST /flows/{id}/run: it starts a run of the draft if the inputs
// are valid.
func (c *call) startRun(d *draft) error {
	typed, err := c.readInputs()
	if err != nil {
		return err
	}
	started, err := c.startDraft(d, typed)
	if err != nil {
		return c.renderRunRefusal(d, typed, err)
	}
	c.s.Announce(d.flow.ID, "flow:run", map[string]flow.RunID{"run": started.Run.ID})
	if c.IsFragment() {
		return c.JSON(http.StatusOK, map[string]flow.RunID{"run": started.Run.ID})
	}
	return c.Redirect("/flows/" + string(d.flow.ID) + "?run=" + string(started.Run.ID))
}

// startDraft starts a run of the draft, or with a parent a rerun of part of it.
func (c *call) startDraft(d *draft, typed *web.Inputs) (flow.Started, error) {
	s := flow.Start{
		WorkspaceID: c.WorkspaceID(), FlowID: d.flow.ID, UserID: c.Member.UserID, Trigger: flow.TriggerBuilder,
		TestRun: &flow.TestRun{Until: typed.Options.Until},
	}
	if typed.Filled {
		inputs, err := c.s.Runner.DraftInputs(c.Ctx(), c.WorkspaceID(), d.flow.ID, typed.Options.Until)
		if err != nil {
			return flow.Started{}, err
		}
		s.Given, s.Coerce = typed.Values(inputs), true
	}
	if typed.Options.Drafts {
		s.Options.Children = flow.ChildrenDraft
	}
	if typed.Options.Parent == "" {
		return c.s.Runner.StartRun(c.Ctx(), s)
	}
	return c.s.Runner.Rerun(c.Ctx(), flow.Rerun{Start: s, ParentRunID: flow.RunID(typed.Options.Parent), From: typed.Options.From, ChildVersions: s.Options.Children})
}

// renderRunRefusal renders the form again with the submitted values and the errors.
func (c *call) renderRunRefusal(d *draft, typed *web.Inputs, cause error) error {
	e, ok := errors.AsType[*flow.Error](cause)
	if !ok || e.Code == flow.CodeNotFound || e.Code == flow.CodeInternal {
		return cause
	}
	form, err := c.runForm(d, typed.Options, typed)
	if err != nil {
		return err
	}
	if assignProblems(&form, e.Fields) == 0 && form.Problems.Count() == 0 {
		form.Error = e.Message
	}
	return c.showRun(http.StatusUnprocessableEntity, form)
}

// assignProblems sets the errors of the fields that have problems, and returns
// how many problems belong to a field.
func assignProblems(form *editorview.RunForm, problems []flow.Problem) (n int) {
	for _, p := range problems {
		name := strings.TrimPrefix(strings.TrimPrefix(p.Pointer, "/inputs"), "/")
		for i := range form.Fields {
			if f := &form.Fields[i]; f.Name == web.InputPrefix+name && f.Error == "" {
				f.Error = problemText(p)
				n++
			}
		}
	}
	return n
}

// problemText returns the error message for an input.
func problemText(p flow.Problem) string {
	if p.Code == "required" {
		return "Required."
	}
	return wording.Sentence(p.Detail)
}

// cancelRun is POST /flows/{id}/runs/{run}/cancel. It is idempotent.
func (c *call) cancelRun(f *flow.Flow) error {
	run, err := c.s.Store.FindRun(c.Ctx(), c.WorkspaceID(), f.ID, flow.RunID(c.Param("run")))
	if err == nil {
		runs := library.Runs{Store: c.s.Store, Runner: c.s.Runner}
		run, err = runs.Cancel(c.Ctx(), c.Actor(), run)
	}
	if err != nil {
		return err
	}
	if c.IsFragment() {
		return c.NoContent(http.StatusNoContent)
	}
	return c.Redirect("/flows/" + string(f.ID) + "?run=" + string(run.ID))
}

// maxRuns is the largest number of runs in the pane.
const maxRuns = 50

// showFlowRuns is GET /flows/{id}/runs: the latest runs of the flow.
func (c *call) showFlowRuns(f *flow.Flow) error {
	list, err := c.flowRuns(f.ID, c.QueryParam("run"))
	if err != nil {
		return err
	}
	if c.IsFragment() {
		return c.Render(http.StatusOK, editorview.FlowRuns(list))
	}
	return c.Redirect("/flows/" + string(f.ID))
}

// flowRuns returns the latest runs, without reading their content. current is the ID of the run to mark.
func (c *call) flowRuns(flowID flow.FlowID, current string) (editorview.RunList, error) {
	list := editorview.RunList{FlowID: string(flowID), MayRun: c.MayEdit(), Now: c.s.Now()}
	found, err := c.s.Store.ListRunRows(c.Ctx(), flow.RunQuery{WorkspaceID: c.WorkspaceID(), FlowID: flowID, Limit: maxRuns})
	if err != nil {
		return list, fmt.Errorf("list the runs of %s: %w", flowID, err)
	}
	for i := range found.Rows {
		m := c.mark(&found.Rows[i])
		m.Current = m.ID == current
		list.Runs = append(list.Runs, m)
	}
	return list, nil
}

// shownMark converts the run that the page shows. Once it has ended, it counts the skipped steps
// and adds the cost of child runs.
func (c *call) shownMark(run *flow.Run) (editorview.RunMark, error) {
	m := c.mark(run)
	if !run.State.Ended() {
		return m, nil
	}
	children, err := c.s.Store.ListChildren(c.Ctx(), c.WorkspaceID(), run.ID)
	if err != nil {
		return m, err
	}
	m.Usage = web.UsageView(run.Usage.Add(flow.ChildUsage(children)))
	steps, err := c.s.Store.FindStepHeads(c.Ctx(), c.WorkspaceID(), run.ID, "")
	for i := range steps {
		if steps[i].State == flow.StepSkipped && !flow.IsSubStep(steps[i].Path) {
			m.Skipped++
		}
	}
	return m, err
}

// mark converts a run for the current user.
func (c *call) mark(run *flow.Run) editorview.RunMark {
	return editorview.RunMark{RunHead: web.RunHead(run, c.s.Now()), Error: failureOf(run.Error), MayRun: c.MayEdit()}
}
