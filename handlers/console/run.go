package console

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/sorting"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	editorview "sluice/views/editor"
	"sluice/views/layout"
)

// maxPoll is the longest time that one long poll of a run waits for a change.
const maxPoll = 25 * time.Second

// runRoutes returns the routes of single runs.
func (s *Server) runRoutes() []route {
	return []route{
		{http.MethodGet, "/runs/:run", web.Viewer, onRun((*call).showRunPage)},
		{http.MethodGet, "/runs/:run/events", web.Viewer, streaming(onRun((*call).followRun))},
		{http.MethodGet, "/runs/:run/request", web.Viewer, onRun(showRequest)},
		{http.MethodPost, "/runs/:run/cancel", web.Editor, web.Posted(onRun((*call).cancelRun))},
		{http.MethodPost, "/runs/:run/rerun", web.Editor, web.Posted((*call).rerun)},
		{http.MethodGet, "/flows/:flow/runs/:run", web.Viewer, onRun((*call).redirectToRun)},
		{http.MethodGet, "/flows/:flow/runs/:run/curl", web.Viewer, onRun((*call).showCURL)},
	}
}

// runView is a run with the data that its page shows.
type runView struct {
	kinds      *flow.Registry
	run        *flow.Run
	flow       *flow.Flow
	doc        *flow.Document            // that the run executes; nil if it cannot be parsed
	order      []string                  // nodes of doc in topological order
	steps      []flow.Step               // in that order, including those that have not started
	children   map[string]*flow.Children // the last child runs of each step, by path
	childUsage flow.Usage                // of all child runs
}

// findRun finds the run of the path, in any flow of the workspace.
func (c *call) findRun() (*flow.Run, error) {
	if !flow.ValidID(flow.PrefixRun, c.Param("run")) {
		return nil, web.ErrNotFound
	}
	return c.s.Store.FindRun(c.Ctx(), c.WorkspaceID(), "", flow.RunID(c.Param("run")))
}

// viewRun reads the flow, the children, the document and the steps of a run, of inner steps only what
// a list shows. An
// erased run has no document and no steps.
func (c *call) viewRun(run *flow.Run) (*runView, error) {
	v := &runView{run: run, kinds: c.s.Kinds}
	var err error
	if v.flow, err = c.s.Store.FindFlow(c.Ctx(), c.WorkspaceID(), run.FlowID); err != nil {
		return nil, err
	}
	c.OfFlow(v.flow)
	children, err := c.s.Store.ListChildren(c.Ctx(), c.WorkspaceID(), run.ID)
	if err != nil {
		return nil, err
	}
	v.children, v.childUsage = map[string]*flow.Children{}, flow.ChildUsage(children)
	for i := range children { // later rounds replace earlier ones
		v.children[children[i].Caller.Path] = &children[i]
	}
	if run.Erased != "" {
		return v, nil
	}
	data, err := c.s.Store.FindDocument(c.Ctx(), c.WorkspaceID(), run.DocumentHash)
	if err != nil {
		return nil, fmt.Errorf("find the document of %s: %w", run.ID, err)
	}
	v.doc, _ = document.ParseDocument(data)
	rows, err := c.s.Store.FindNodeSteps(c.Ctx(), c.WorkspaceID(), run.ID)
	if err != nil {
		return nil, err
	}
	inner, err := c.s.Store.FindStepOutlines(c.Ctx(), c.WorkspaceID(), run.ID)
	if err != nil {
		return nil, err
	}
	v.sort(append(rows, inner...))
	return v, nil
}

// sort sets the steps in the order in which the flow runs them, each followed by its inner steps. It
// adds the steps that have not started.
func (v *runView) sort(rows []flow.Step) {
	if v.doc != nil {
		v.order = document.RunOrder(v.doc, v.kinds)
	}
	within := map[string][]flow.Step{}
	for _, s := range rows {
		within[topNode(s.Path)] = append(within[topNode(s.Path)], s)
	}
	for _, id := range v.order {
		own := within[id]
		sorting.By(own, func(a, b flow.Step) int { return compareNumbered(a.Path, b.Path) })
		if len(own) == 0 || own[0].Path != id {
			v.steps = append(v.steps, flow.Step{Path: id, Node: id, State: flow.StepPending})
		}
		v.steps = append(v.steps, own...)
	}
}

// compareNumbered compares paths part by part, where numbers count as numbers: agent.2 comes before
// agent.10.
func compareNumbered(a, b string) int {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		m, errM := strconv.Atoi(x[i])
		n, errN := strconv.Atoi(y[i])
		order := cmp.Compare(x[i], y[i])
		if errM == nil && errN == nil {
			order = cmp.Compare(m, n)
		}
		if order != 0 {
			return order
		}
	}
	return cmp.Compare(len(x), len(y))
}

// topNode returns the node of the flow from the path of a step: "map" for "map[3]/node", and "agent"
// for "agent.3.1".
func topNode(path string) string {
	if i := strings.IndexAny(path, "[/."); i >= 0 {
		return path[:i]
	}
	return path
}

// showRunPage is GET /runs/{run}.
func (c *call) showRunPage(run *flow.Run) error {
	r, err := c.runPage(run)
	if err != nil {
		return err
	}
	page := c.Page("Run of "+r.FlowName, layout.SectionFlows)
	if r.Searches {
		page = page.WithSheet("knowledge.css")
	}
	return c.Render(http.StatusOK, consoleview.Run(page, r))
}

// followRun is GET /runs/{run}/events: a long poll. It responds when the run has
// changed since ?seen= or has ended, or after pollTimeout.
func (c *call) followRun(run *flow.Run) error {
	seen, _ := strconv.ParseInt(c.QueryParam("seen"), 10, 64)
	watch := c.s.Runner.WatchRun(run.ID) // before the next read, so that no change is missed
	defer watch.Stop()
	timeout := time.NewTimer(c.pollTimeout(run))
	defer timeout.Stop()
	for waiting := true; waiting; {
		current, err := c.findRun()
		var retry <-chan time.Time
		switch {
		case flow.IsBusy(err):
			retry = time.After(web.RetryPause)
		case err != nil:
			return err
		default:
			run = current
		}
		if retry == nil && (run.Seq > seen || run.State.Ended()) {
			break
		}
		select {
		case <-watch.Changes:
		case <-retry:
		case <-timeout.C:
			waiting = false
		case <-c.s.Drained:
			waiting = false
		case <-c.Ctx().Done():
			return nil
		}
	}
	r, err := c.runPage(run)
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, consoleview.RunBody(r))
}

// redirectToRun is GET /flows/{flow}/runs/{run}, the URL that the API returns for a
// run.
func (c *call) redirectToRun(run *flow.Run) error {
	if string(run.FlowID) != c.Param("flow") {
		return web.ErrNotFound
	}
	return c.Redirect("/runs/" + url.PathEscape(string(run.ID)))
}

// runPage converts a run to its page.
func (c *call) runPage(run *flow.Run) (consoleview.RunPage, error) {
	v, err := c.viewRun(run)
	if err != nil {
		return consoleview.RunPage{}, err
	}
	r := consoleview.RunPage{
		RunHead: web.RunHead(run, c.s.Now()), FlowName: v.flow.Name, LiveVersion: v.flow.LiveVersion, HasChildren: len(v.children) > 0,
		Parent: string(run.ParentRunID), Continues: string(run.Continues), MayRun: c.MayEdit(), Live: !run.State.Ended(), Seen: run.Seq, Now: c.s.Now(),
	}
	if r.Facts, err = c.runFacts(v); err != nil {
		return r, err
	}
	if r.Caller, err = c.findCaller(run); err != nil {
		return r, err
	}
	if r.Error, err = c.headError(v); err != nil {
		return r, err
	}
	if run.Erased != "" {
		r.Erased = erasedText(run)
		return r, nil
	}
	if r.Asks, err = c.questions(run); err != nil {
		return r, err
	}
	r.From, r.Awaits, r.Searches = v.label(run.RerunFrom), v.awaitedText(), web.Searches(v.doc)
	r.Follow = c.parseRunLink(run)
	r.Link = r.Follow
	if r.Link.Step = v.selectedStep(r.Follow.Step, r.Error); r.Link.Step != r.Follow.Step {
		r.Follow.Step = ""
	}
	if err := c.fillOutputs(&r, v); err != nil {
		return r, err
	}
	if err := c.fillSteps(&r, v); err != nil {
		return r, err
	}
	r.Picture = c.s.runPicture(v, r.Link)
	r.MayTest = r.MayRun && !r.Live && run.Save && run.Case == nil && run.Trigger.Work() == "" && v.flow.ArchivedAt.IsZero()
	r.Inputs, r.Metadata = v.inputViews(), valueViews(run.Metadata)
	if r.CURL, err = c.s.curl(run); err != nil {
		return r, err
	}
	r.Deliveries, err = c.runDeliveries(v)
	return r, err
}

// fillSteps adds the list of steps and the selected one, and what the page shows of an agent.
func (c *call) fillSteps(r *consoleview.RunPage, v *runView) (err error) {
	a := v.findAgent(r.Link.Step)
	if r.Fall, r.Step, r.Agent, err = c.waterfall(v, a, r.Link); err != nil || a == nil {
		return err
	}
	r.Stopping = v.run.StopRequested
	r.MayStop = !v.run.State.Ended() && !a.step.State.Ended()
	r.Agent.About = r.Facts[:3]
	return nil
}

// fillOutputs adds the outputs, or why they are missing.
func (c *call) fillOutputs(r *consoleview.RunPage, v *runView) (err error) {
	if v.doc == nil {
		r.Missing = "The flow of this run cannot be read."
		return nil
	}
	steps := func() ([]flow.Step, error) { return v.steps, nil }
	if r.Outputs, err = web.RunOutputs(v.run, v.doc, v.kinds, steps); err != nil || len(r.Outputs) > 0 {
		return err
	}
	if r.SoFar, err = c.outputsSoFar(v); err != nil {
		return err
	}
	switch {
	case !v.run.State.Ended():
		r.Missing = "The outputs appear here when the run is done."
	case v.run.State == flow.RunCanceled:
		r.Missing = "No outputs: the run was canceled."
	case r.Error != nil && r.Error.Label != "":
		r.Missing = "No outputs: stopped at " + r.Error.Label + "."
		if s := v.children[r.Error.Node]; s != nil && v.isMap(r.Error.Node, s) && s.Succeeded > 0 {
			r.Missing += " " + components.Quantity(s.Succeeded, "finished item") + " can be reused."
		}
	case r.Error != nil:
		r.Missing = "No outputs: the run failed."
	default:
		r.Missing = "This flow has no outputs. Connect a value to an Output node to see it here."
	}
	return nil
}

// inputViews returns the inputs in the order of the flow, and others after them.
func (v *runView) inputViews() (list []components.ValueView) {
	known := map[string]bool{}
	if v.doc != nil {
		for _, in := range contract.Inputs(v.doc, v.kinds) {
			if value, given := v.run.Inputs.Lookup(in.Name); given {
				known[in.Name], list = true, append(list, components.ValueView{Name: in.Name, Value: value})
			}
		}
	}
	for _, view := range valueViews(v.run.Inputs) {
		if !known[view.Name] {
			list = append(list, view)
		}
	}
	return list
}

// questions returns the open approvals of a run.
func (c *call) questions(run *flow.Run) (list []consoleview.RunQuestion, err error) {
	open, err := web.OpenQuestions(c.Ctx(), c.s.Store, run, c.s.Now())
	for i := range open {
		list = append(list, consoleview.RunQuestion{Title: open[i].Question.Title, Path: web.ApprovalPath(open[i].RunID, open[i].Path)})
	}
	return list, err
}

// erasedText explains why the content of a run is missing.
func erasedText(run *flow.Run) string {
	if run.Erased == flow.CodeRunExpired {
		return "Its retention period is over. Its state, times and cost are kept for 400 days."
	}
	return "It was erased, or started without saving its content. Its state, times and cost are kept for 400 days."
}

// label returns the title of a node of the run.
func (v *runView) label(node string) string {
	if v.doc == nil || node == "" {
		return node
	}
	return web.NodeTitle(v.doc, v.kinds, node)
}

// valueViews converts named values in their order.
func valueViews(o *flow.Object) (list []components.ValueView) {
	for name, v := range o.All() {
		list = append(list, components.ValueView{Name: name, Value: v})
	}
	return list
}

// triggerLabels are shown as "Started by" if there is neither a key nor a user.
var triggerLabels = map[flow.Trigger]string{
	flow.TriggerAPI: "API", flow.TriggerBuilder: "Builder", flow.TriggerForm: "Form",
	flow.TriggerMCP: "MCP", flow.TriggerCLI: "Command line", flow.TriggerRerun: "Rerun", flow.TriggerFlow: "Another flow", flow.TriggerSchedule: "Schedule", flow.TriggerHook: "Webhook",
}

// runFacts returns the table at the top of the page. The cost includes that of child runs.
func (c *call) runFacts(v *runView) ([]consoleview.Fact, error) {
	run := v.run
	by, err := c.startedBy(run)
	if err != nil {
		return nil, err
	}
	version := consoleview.Fact{Title: "Version", Text: editorview.VersionName(run.Version), Href: "/flows/" + url.PathEscape(string(run.FlowID)) + "/versions"}
	if run.Draft {
		version.Text = "Draft"
	}
	took, soFar := consoleview.Fact{Title: "Duration", Text: "–"}, ""
	if !run.StartedAt.IsZero() {
		took.Elapsed = run.Duration(c.s.Now())
		took.Text = components.Duration(took.Elapsed)
	}
	if !run.State.Ended() {
		took.Title, took.Grows, soFar = "Time so far", !run.StartedAt.IsZero(), " so far"
	}
	used := run.Usage.Add(v.childUsage)
	cost := consoleview.Fact{Title: "Cost" + soFar, Text: components.Money(used.CostNanoUSD.Micros()), More: unpricedText(used)}
	if lost := v.lostSteps(); lost > 0 {
		cost.More += fmt.Sprintf(" (%d lost)", lost)
		cost.Help = consoleview.LostHelp
	}
	return []consoleview.Fact{
		version, {Title: "Started by", Text: by}, {Title: "Started", At: run.CreatedAt}, took,
		{Title: "Tokens", Text: components.Count(int(used.InputTokens)), More: tokensText(used)}, cost,
	}, nil
}

// costText formats a cost, with the number of steps whose cost is unknown.
func costText(u flow.Usage) string {
	return strings.TrimSuffix(components.Money(u.CostNanoUSD.Micros())+" "+unpricedText(u), " ")
}

// unpricedText is the number of steps whose cost is unknown: their model has no price, or the bill of
// a call was lost. It is "" without any.
func unpricedText(u flow.Usage) string {
	if u.UnpricedSteps == 0 {
		return ""
	}
	return "· " + components.Quantity(int(u.UnpricedSteps), "step") + " without a price"
}

// lostSteps returns the number of steps with a lost call.
func (v *runView) lostSteps() (n int) {
	for i := range v.steps {
		if v.steps[i].LostCall() {
			n++
		}
	}
	return n
}

// tokensText is what follows the number of input tokens: that of output tokens, and of those read
// from a cache and used for reasoning. It is "" if no model was used.
func tokensText(u flow.Usage) string {
	if u.InputTokens+u.OutputTokens == 0 {
		return ""
	}
	text := "→ " + components.Count(int(u.OutputTokens))
	if u.CachedTokens > 0 {
		text += ", " + components.Count(int(u.CachedTokens)) + " cached"
	}
	if u.ReasoningTokens > 0 {
		text += ", " + components.Count(int(u.ReasoningTokens)) + " reasoning"
	}
	return text
}

// startedBy returns the name of the key or the user that started a run, else the
// label of the trigger.
func (c *call) startedBy(run *flow.Run) (string, error) {
	if run.KeyID != "" {
		k, err := c.s.Store.FindKey(c.Ctx(), c.WorkspaceID(), run.KeyID)
		if err == nil {
			return "Key “" + k.Name + "”", nil
		}
		if !flow.IsNotFound(err) {
			return "", err
		}
	}
	if run.UserID != "" {
		return c.UserNames()(run.UserID), nil
	}
	return triggerLabels[run.Trigger], nil
}

// runDeliveries returns the webhook messages of a run.
func (c *call) runDeliveries(v *runView) (lines []consoleview.DeliveryLine, err error) {
	list, err := c.s.Store.ListDeliveriesOfRun(c.Ctx(), c.WorkspaceID(), v.run.ID)
	if err != nil {
		return nil, err
	}
	for i := range list {
		d := &list[i]
		lines = append(lines, consoleview.DeliveryLine{ID: d.ID, Node: v.label(d.Node), URL: flow.ShownURL(d.URL), State: string(d.State), Text: attemptText(d), At: d.CreatedAt})
	}
	return lines, nil
}

// attemptText returns the result of the last attempt at a delivery.
func attemptText(d *flow.DeliveryRecord) string {
	if len(d.Attempts) == 0 {
		return "Not tried yet"
	}
	last := d.Attempts[len(d.Attempts)-1]
	text := last.Error
	if last.Status > 0 {
		text = strconv.Itoa(last.Status) + " " + http.StatusText(last.Status)
	}
	if len(d.Attempts) == 1 {
		return text
	}
	return fmt.Sprintf("%s, attempt %d", text, len(d.Attempts))
}
