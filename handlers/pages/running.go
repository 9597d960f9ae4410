package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"sluice/flow"
	"sluice/views"
)

// runningStore is what running a flow from the builder reads and keeps.
type runningStore interface {
	FindRun(ctx context.Context, ws, flowID, runID string) (*flow.Run, error)
	FindSteps(ctx context.Context, ws, runID string) ([]flow.Step, error)
	ListRuns(ctx context.Context, f flow.RunFilter) ([]flow.Run, error)
	FindDocument(ctx context.Context, ws, hash string) ([]byte, error)
	FindFiles(ctx context.Context, ws string, ids []string) (map[string]*flow.File, error)
	SavePin(ctx context.Context, ws, flowID string, p flow.Pin) error
	RemovePin(ctx context.Context, ws, flowID, node string) error
	flow.FileStore
}

func (s *Server) runningRoutes() []route {
	return []route{
		{http.MethodGet, "/flows/:flow/run", accessEditor, (*call).showRunForm},
		{http.MethodPost, "/flows/:flow/run", accessEditor, (*call).startRun},
		{http.MethodGet, "/flows/:flow/runs", accessViewer, (*call).showFlowRuns},
		{http.MethodGet, "/flows/:flow/runs/:run/events", accessViewer, streaming((*call).runEvents)},
		{http.MethodPost, "/flows/:flow/runs/:run/cancel", accessEditor, (*call).stopRun},
		{http.MethodGet, "/flows/:flow/data/:node", accessViewer, (*call).showData},
		{http.MethodPost, "/flows/:flow/pin/:node", accessEditor, (*call).pin},
		{http.MethodPost, "/flows/:flow/unpin/:node", accessEditor, (*call).unpin},
	}
}

// trialAsk is what somebody wants of a run of the draft.
type trialAsk struct {
	until  string // run to here
	from   string // run from here, taking over what
	parent string // this run gave
}

func (a trialAsk) node() string {
	if a.until != "" {
		return a.until
	}
	return a.from
}

// showRunForm is GET /flows/{id}/run: what the draft asks for, or what keeps it
// from running.
func (c *call) showRunForm() error {
	d, err := c.findDraft()
	if err != nil {
		return err
	}
	ask := trialAsk{c.QueryParam("until"), c.QueryParam("from"), c.QueryParam("parent")}
	form, err := c.runForm(d, ask, nil)
	if err != nil {
		return err
	}
	return c.showRun(http.StatusOK, form)
}

func (c *call) showRun(status int, form views.RunForm) error {
	if c.partial() {
		return c.render(status, views.RunFormBody(form, "h2"))
	}
	p := c.page("Run "+form.Flow, views.SectionFlows)
	return c.render(status, views.RunFormPage(p, form))
}

// runForm is the form with what was typed, or else with the values of the run
// before. A draft with problems lists them in the place of fields.
func (c *call) runForm(d *draft, ask trialAsk, typed *typedInputs) (views.RunForm, error) {
	form := views.RunForm{FlowID: d.flow.ID, Flow: d.Name, Until: ask.until, From: ask.from, Parent: ask.parent}
	if n := d.Node(ask.node()); n != nil {
		k := c.s.Kinds.For(n)
		form.Node, form.Sends = views.NodeTitle(n, k), k != nil && k.Collects != ""
	}
	form.Webhooks = c.webhooks(d)
	inputs, err := c.s.Runner.TrialInputs(c.ctx(), c.ws(), d.flow.ID, ask.until)
	if e, ok := errors.AsType[*flow.Error](err); ok && len(e.Fields) > 0 {
		form.Problems = views.ProblemsOf(d.flow.ID, d.Document, c.s.Kinds, e.Fields)
		return form, nil
	}
	if err != nil {
		return form, err
	}
	last, err := c.lastInputs(d.flow.ID, ask.parent)
	if err != nil {
		return form, err
	}
	form.Ran = last != nil
	for i := range inputs {
		form.Fields = append(form.Fields, inputField(&inputs[i], last, typed))
	}
	return form, nil
}

// webhooks counts the nodes that would send something.
func (c *call) webhooks(d *draft) (n int) {
	for i := range d.Nodes {
		if k := c.s.Kinds.Find(d.Nodes[i].Kind); k != nil && k.Collects != "" && !d.Nodes[i].Disabled {
			n++
		}
	}
	return n
}

// lastInputs are those of the given run, or of the last one that was started
// from the builder; nil if there is none.
func (c *call) lastInputs(flowID, runID string) (map[string]any, error) {
	if runID != "" {
		run, err := c.s.Store.FindRun(c.ctx(), c.ws(), flowID, runID)
		if err != nil {
			return nil, err
		}
		return run.Inputs, nil
	}
	runs, err := c.s.Store.ListRuns(c.ctx(), flow.RunFilter{WorkspaceID: c.ws(), FlowID: flowID, Limit: shownRuns})
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
func (c *call) startRun() error {
	d, err := c.findDraft()
	if err != nil {
		return err
	}
	typed, err := c.readInputs()
	if err != nil {
		return err
	}
	started, err := c.tryDraft(d, typed)
	if err != nil {
		return c.refuseRun(d, typed, err)
	}
	c.s.announce(d.flow.ID, "flow:run", map[string]string{"run": started.Run.ID})
	if c.partial() {
		return c.JSON(http.StatusOK, map[string]string{"run": started.Run.ID})
	}
	return c.see("/flows/" + d.flow.ID + "?run=" + started.Run.ID)
}

func (c *call) tryDraft(d *draft, typed *typedInputs) (flow.Started, error) {
	s := flow.Start{
		WorkspaceID: c.ws(), FlowID: d.flow.ID, UserID: c.member.UserID, Trigger: flow.TriggerBuilder,
		Trial: &flow.Trial{Until: typed.ask.until},
	}
	if typed.filled {
		inputs, err := c.s.Runner.TrialInputs(c.ctx(), c.ws(), d.flow.ID, typed.ask.until)
		if err != nil {
			return flow.Started{}, err
		}
		s.Given, s.Coerce = typed.given(inputs), true
	}
	if typed.ask.parent == "" {
		return c.s.Runner.StartRun(c.ctx(), s)
	}
	return c.s.Runner.Rerun(c.ctx(), flow.Rerun{Start: s, ParentRunID: typed.ask.parent, From: typed.ask.from})
}

// refuseRun shows the form again, with what was typed and what is wrong with it.
func (c *call) refuseRun(d *draft, typed *typedInputs, cause error) error {
	e, ok := errors.AsType[*flow.Error](cause)
	if !ok || e.Code == flow.CodeNotFound || e.Code == flow.CodeInternal {
		return cause
	}
	form, err := c.runForm(d, typed.ask, typed)
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
func blameFields(form *views.RunForm, problems []flow.Problem) (n int) {
	for _, p := range problems {
		name := strings.TrimPrefix(strings.TrimPrefix(p.Pointer, "/inputs"), "/")
		for i := range form.Fields {
			if f := &form.Fields[i]; f.Name == inputPrefix+name && f.Error == "" {
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
	return views.Sentence(p.Detail)
}

// stopRun is POST /flows/{id}/runs/{run}/cancel. Stopping what has ended does
// nothing.
func (c *call) stopRun() error {
	f, err := c.findFlow()
	if err != nil {
		return err
	}
	run, err := c.s.Runner.CancelRun(c.ctx(), c.ws(), f.ID, c.Param("run"))
	if err != nil {
		return err
	}
	if c.partial() {
		return c.NoContent(http.StatusNoContent)
	}
	return c.see("/flows/" + f.ID + "?run=" + run.ID)
}

// shownRuns is how many runs the pane lists.
const shownRuns = 50

// showFlowRuns is GET /flows/{id}/runs: the last runs of the flow.
func (c *call) showFlowRuns() error {
	f, err := c.findFlow()
	if err != nil {
		return err
	}
	list, err := c.flowRuns(f.ID, c.QueryParam("run"))
	if err != nil {
		return err
	}
	if c.partial() {
		return c.render(http.StatusOK, views.FlowRuns(list))
	}
	return c.see("/flows/" + f.ID)
}

func (c *call) flowRuns(flowID, current string) (views.RunList, error) {
	list := views.RunList{FlowID: flowID, MayRun: c.mayEdit(), Now: c.s.Now()}
	runs, err := c.s.Store.ListRuns(c.ctx(), flow.RunFilter{WorkspaceID: c.ws(), FlowID: flowID, Limit: shownRuns})
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
func (c *call) mark(run *flow.Run) views.RunMark {
	m := views.MarkOf(run, c.s.Now())
	m.MayRun = c.mayEdit()
	return m
}
