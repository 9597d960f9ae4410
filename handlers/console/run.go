package console

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/engine"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	editorview "sluice/views/editor"
	"sluice/views/layout"
)

// runHold is how long a page that shows a run may wait for news of it.
const runHold = 25 * time.Second

func (s *Server) runRoutes() []route {
	return []route{
		{http.MethodGet, "/runs/:run", web.Viewer, onRun((*call).showRunPage)},
		{http.MethodGet, "/runs/:run/events", web.Viewer, streaming(onRun((*call).followRun))},
		{http.MethodPost, "/runs/:run/cancel", web.Editor, onRun((*call).cancelRun)},
		{http.MethodPost, "/runs/:run/rerun", web.Editor, web.Posted((*call).rerun)},
		{http.MethodGet, "/flows/:flow/runs/:run", web.Viewer, onRun((*call).leadToRun)},
		{http.MethodGet, "/flows/:flow/runs/:run/curl", web.Viewer, onRun((*call).showCURL)},
	}
}

// runView is a run with all that its page shows of it.
type runView struct {
	run   *flow.Run
	flow  *flow.Flow
	doc   *flow.Document // as it was; nil when it cannot be read
	order []string       // its nodes as they run
	steps []flow.Step    // in that order, those that did not begin too
}

func (c *call) findRun() (*flow.Run, error) {
	if !flow.ValidID(flow.PrefixRun, c.Param("run")) {
		return nil, web.ErrNotFound
	}
	return c.s.Store.FindRun(c.Ctx(), c.WorkspaceID(), "", c.Param("run"))
}

// view reads what belongs to a run.
func (c *call) viewRun(run *flow.Run) (*runView, error) {
	v := &runView{run: run}
	var err error
	if v.flow, err = c.s.Store.FindFlow(c.Ctx(), c.WorkspaceID(), run.FlowID); err != nil {
		return nil, err
	}
	if run.Erased != "" {
		return v, nil
	}
	data, err := c.s.Store.FindDocument(c.Ctx(), c.WorkspaceID(), run.DocumentHash)
	if err != nil {
		return nil, fmt.Errorf("find the document of %s: %w", run.ID, err)
	}
	v.doc, _ = document.ParseDocument(data)
	rows, err := c.s.Store.FindSteps(c.Ctx(), c.WorkspaceID(), run.ID)
	if err != nil {
		return nil, err
	}
	v.sort(rows, c.s.Kinds)
	return v, nil
}

// sort puts the steps in the order in which the flow runs, and adds those that
// did not begin.
func (v *runView) sort(rows []flow.Step, kinds *flow.Registry) {
	if v.doc != nil {
		v.order = runOrder(v.doc, kinds)
	}
	missing := flow.StepPending
	if v.run.State.Ended() {
		missing = flow.StepCanceled
	}
	within := map[string][]flow.Step{}
	for _, s := range rows {
		within[topNode(s.Path)] = append(within[topNode(s.Path)], s)
	}
	for _, id := range v.order {
		own := within[id]
		if len(own) == 0 || own[0].Path != id {
			v.steps = append(v.steps, flow.Step{Path: id, Node: id, State: missing})
		}
		v.steps = append(v.steps, own...)
	}
}

// runOrder lists the nodes that run, from first to last.
func runOrder(d *flow.Document, kinds *flow.Registry) (ids []string) {
	if g, err := engine.Compile(d, kinds); err == nil {
		return g.NodeIDs()
	}
	for i := range d.Nodes {
		ids = append(ids, d.Nodes[i].ID)
	}
	return ids
}

// topNode is the node of the flow itself in a path such as map[3]/node.
func topNode(path string) string {
	if i := strings.IndexAny(path, "[/"); i >= 0 {
		return path[:i]
	}
	return path
}

// showRunPage is GET run.
func (c *call) showRunPage(run *flow.Run) error {
	r, err := c.runPage(run)
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, consoleview.Run(c.Page("Run of "+r.FlowName, layout.SectionRuns), r))
}

// followRun is GET events: the run as it is once it has changed since what the
// page shows, or after a while as it was.
func (c *call) followRun(run *flow.Run) error {
	seen, _ := strconv.ParseInt(c.QueryParam("seen"), 10, 64)
	watch := c.s.Runner.WatchRun(run.ID) // before the next look, so that no change falls between
	defer watch.Stop()
	over := time.NewTimer(runHold)
	defer over.Stop()
	for waiting := true; waiting; {
		now, err := c.findRun()
		var missed <-chan time.Time
		switch {
		case flow.IsUnavailable(err):
			missed = time.After(web.RetryPause)
		case err != nil:
			return err
		default:
			run = now
		}
		if missed == nil && (run.Seq > seen || run.State.Ended()) {
			break
		}
		select {
		case <-watch.Changes:
		case <-missed:
		case <-over.C:
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

// leadToRun is the address that the API gives out for a run.
func (c *call) leadToRun(run *flow.Run) error {
	if run.FlowID != c.Param("flow") {
		return web.ErrNotFound
	}
	return c.Redirect("/runs/" + url.PathEscape(run.ID))
}

// runPage is all that the page shows.
func (c *call) runPage(run *flow.Run) (consoleview.RunPage, error) {
	v, err := c.viewRun(run)
	if err != nil {
		return consoleview.RunPage{}, err
	}
	r := consoleview.RunPage{
		ID: run.ID, FlowID: run.FlowID, FlowName: v.flow.Name, State: string(run.State), Version: run.Version, Draft: run.Draft,
		Parent: run.ParentRunID, MayRun: c.MayEdit(), Live: !run.State.Ended(), Seen: run.Seq, Now: c.s.Now(),
	}
	if r.Facts, err = c.runFacts(run); err != nil {
		return r, err
	}
	r.Error = v.runError(run.Error)
	if run.Erased != "" {
		r.Erased = erasedWords(run)
		return r, nil
	}
	r.From = v.label(run.RerunFrom)
	r.Selected = v.selected(c.QueryParam("step"))
	r.Picture, r.Fall, r.Step = c.s.runPicture(v, r.Selected), v.waterfall(r.Selected, r.Now), v.stepView(r.Selected, c.s.Kinds)
	r.Inputs, r.Outputs, r.Metadata = valueViews(run.Inputs), valueViews(run.Outputs), valueViews(run.Metadata)
	if r.CURL, err = c.s.curl(run); err != nil {
		return r, err
	}
	r.Deliveries, err = c.runDeliveries(v)
	return r, err
}

func erasedWords(run *flow.Run) string {
	if run.Erased == flow.CodeRunExpired {
		return "The time for which it is kept is over. What it was, when, and what it cost stays for 400 days."
	}
	return "It was erased, or was not to be saved. What it was, when, and what it cost stays for 400 days."
}

// label is what people call a node of the run.
func (v *runView) label(node string) string {
	if v.doc == nil || node == "" {
		return node
	}
	return web.NodeLabel(v.doc, node)
}

// selected is the step whose details are shown: the one that was asked for, or
// of a run that failed the one to blame.
func (v *runView) selected(asked string) string {
	if slices.ContainsFunc(v.steps, func(s flow.Step) bool { return s.Path == asked }) {
		return asked
	}
	if v.run.State == flow.RunFailed && v.run.Error != nil {
		return v.run.Error.Node
	}
	return ""
}

func valueViews(m map[string]any) (list []components.ValueView) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, components.ValueView{Name: name, Value: m[name]})
	}
	return list
}

// triggerWords say what started a run that no key and no person is known of.
var triggerWords = map[flow.Trigger]string{
	flow.TriggerAPI: "API", flow.TriggerBuilder: "Builder", flow.TriggerForm: "Form",
	flow.TriggerMCP: "MCP", flow.TriggerCLI: "Command line", flow.TriggerRerun: "Rerun",
}

func (c *call) runFacts(run *flow.Run) ([]consoleview.Fact, error) {
	by, err := c.startedBy(run)
	if err != nil {
		return nil, err
	}
	version := consoleview.Fact{Title: "Version", Text: editorview.VersionName(run.Version), Href: "/flows/" + url.PathEscape(run.FlowID) + "/versions"}
	if run.Draft {
		version.Text = "Draft"
	}
	took := "–"
	if !run.StartedAt.IsZero() {
		end := run.EndedAt
		if end.IsZero() {
			end = c.s.Now()
		}
		took = consoleview.Precisely(max(0, end.Sub(run.StartedAt)))
	}
	return []consoleview.Fact{
		version, {Title: "Started by", Text: by}, {Title: "Started", At: run.CreatedAt}, {Title: "Took", Text: took},
		{Title: "Tokens", Text: components.Count(int(run.Usage.InputTokens + run.Usage.OutputTokens))},
		{Title: "Cost", Text: components.Money(run.Usage.CostNanoUSD / 1000)},
	}, nil
}

func (c *call) startedBy(run *flow.Run) (string, error) {
	if run.KeyID != "" {
		k, err := c.s.Store.FindKey(c.Ctx(), c.WorkspaceID(), run.KeyID)
		if err == nil {
			return k.Name, nil
		}
		if !errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
			return "", err
		}
	}
	if run.UserID != "" {
		return c.UserNames()(run.UserID), nil
	}
	return triggerWords[run.Trigger], nil
}

func (c *call) runDeliveries(v *runView) (lines []consoleview.DeliveryLine, err error) {
	list, err := c.s.Store.ListDeliveriesOfRun(c.Ctx(), c.WorkspaceID(), v.run.ID)
	if err != nil {
		return nil, err
	}
	for i := range list {
		d := &list[i]
		lines = append(lines, consoleview.DeliveryLine{ID: d.ID, Node: v.label(d.Node), URL: flow.ShownURL(d.URL), State: string(d.State), Text: attemptWords(d), At: d.CreatedAt})
	}
	return lines, nil
}

// attemptWords say how the newest attempt at a delivery went.
func attemptWords(d *flow.DeliveryRecord) string {
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
