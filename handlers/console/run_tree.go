package console

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/items"
	"sluice/views/components"
	consoleview "sluice/views/console"
)

const (
	// maxFallDepth is the largest number of levels of child runs in the list of steps.
	maxFallDepth = 4
	// maxInner is the number of inner steps that are listed below a step that is not selected.
	maxInner = 20
)

// treeBuilder builds the list of the steps of a run: below a step that runs another flow, the steps
// of one of its child runs.
type treeBuilder struct {
	c          *call
	link       consoleview.RunLink // its step is the selected one
	begin, end time.Time
	w          consoleview.Waterfall
	detail     *consoleview.StepView // of the selected step
	itemFailed bool                  // the selected item of a list
	agent      *agent                // whose turns are listed first; nil without one
}

// waterfall returns the steps of a run over time, and the details of the selected one. The turns and calls
// of an agent come first, if a is not nil.
func (c *call) waterfall(v *runView, a *agent, link consoleview.RunLink) (consoleview.Waterfall, *consoleview.StepView, *consoleview.AgentView, error) {
	f := &treeBuilder{c: c, link: link}
	f.begin, f.end = v.span(c.s.Now())
	f.w = consoleview.Waterfall{Span: max(f.end.Sub(f.begin), time.Millisecond), States: map[string]int{}}
	for i := range v.steps {
		if s := &v.steps[i]; s.Path == s.Node {
			f.w.States[string(v.shownState(s))]++
		}
	}
	var thread *threadBuilder
	if a != nil {
		f.agent = a
		thread = f.addThread(a)
		f.w.Rows = append(f.w.Rows, consoleview.WaterfallRow{Path: "other", Heading: "Other steps"})
	}
	if err := f.add(v, "", 0); err != nil {
		return f.w, nil, nil, err
	}
	if err := f.selectInside(v); err != nil {
		return f.w, nil, nil, err
	}
	var view *consoleview.AgentView
	if thread != nil {
		if f.w.Rows[len(f.w.Rows)-1].Heading != "" {
			f.w.Rows = f.w.Rows[:len(f.w.Rows)-1]
		}
		view = thread.view(cutWaits(&f.w))
	}
	if f.detail == nil {
		return f.w, nil, view, nil
	}
	return f.w, f.detail, view, f.finish(v)
}

// selectInside adds the details of the agent itself, or of a turn or call of it, if that is selected.
func (f *treeBuilder) selectInside(v *runView) error {
	a := f.agent
	if a == nil || topNode(f.link.Step) != a.step.Path || f.detail != nil {
		return nil
	}
	s := v.step(f.link.Step)
	if s == nil {
		return nil
	}
	full, err := fullStep(f.c, v, s)
	if err != nil {
		return err
	}
	f.detail = v.stepView(full)
	if s.Path == a.step.Path {
		return nil
	}
	return fillAgentStep(f.c, a, f.detail, full, f.link)
}

// fullStep returns a step with its content, which lists leave out of inner steps.
func fullStep(c *call, v *runView, s *flow.Step) (*flow.Step, error) {
	if s.Path == s.Node {
		return s, nil
	}
	full, err := c.s.Store.FindStep(c.Ctx(), v.run.WorkspaceID, v.run.ID, s.Path)
	if err != nil || full != nil {
		return full, err
	}
	return s, nil
}

// selects reports whether the selected step is the one at a path or inside of it.
func (f *treeBuilder) selects(path string) bool {
	rest, ok := strings.CutPrefix(f.link.Step, path)
	return ok && (rest == "" || strings.ContainsRune("[/.", rune(rest[0])))
}

// add adds the steps of a run. prefix is the path of its item, and level its depth.
func (f *treeBuilder) add(v *runView, prefix string, level int) error {
	inner := map[string]int{}
	for i := range v.steps {
		if s := &v.steps[i]; s.Path != s.Node {
			inner[s.Node]++
		}
	}
	for i := range v.steps {
		s := &v.steps[i]
		if level == 0 && f.agent != nil && v.isInAgent(s, f.agent.step.Path) {
			continue
		}
		path, n := prefix+s.Path, inner[s.Node]
		open := n <= maxInner || f.selects(prefix+s.Node)
		if s.Path != s.Node && !open {
			continue
		}
		row := v.fallRow(s, f.begin, f.end)
		row.Path, row.Depth, row.Inside, row.Link, row.Current = path, row.Depth+2*level, row.Inside || level > 0, f.link.WithStep(path), path == f.link.Step
		if s.Path == s.Node && n > 0 {
			row.Unfolds, row.Open = true, open
		}
		if row.Current {
			full, err := fullStep(f.c, v, s)
			if err != nil {
				return err
			}
			f.detail = v.stepView(full)
			if f.detail.Path = path; level > 0 {
				f.detail.MayRerun, f.detail.RunPath = false, components.RunPath(string(v.run.ID))
			}
		}
		children := v.children[s.Path]
		if children == nil || level == maxFallDepth || v.run.Erased != "" {
			f.w.Rows = append(f.w.Rows, row)
			continue
		}
		if err := f.addChild(v, children, row, level); err != nil {
			return err
		}
	}
	return nil
}

// isInAgent reports whether the list of the page has a step elsewhere: it is the agent whose turns are listed,
// or inside of an agent.
func (v *runView) isInAgent(s *flow.Step, agent string) bool {
	if s.Path == s.Node {
		return s.Path == agent
	}
	n := v.node(topNode(s.Path))
	return n != nil && v.isAgent(n)
}

// addChild adds a step that runs another flow. A single child run is listed below it; of the items of
// a list, only the selected one.
func (f *treeBuilder) addChild(v *runView, s *flow.Children, row consoleview.WaterfallRow, level int) error {
	item, chosen := parseItem(f.link.Step, row.Path)
	list := v.isMap(s.Caller.Path, s)
	if s.Failed > 0 && list {
		failures, err := f.c.s.Store.ListFailures(f.c.Ctx(), s.Caller, maxFailures)
		if err != nil {
			return err
		}
		for _, fail := range failures {
			if !fail.At.IsZero() {
				row.Failures = append(row.Failures, max(0, fail.At.Sub(f.begin)))
			}
		}
	}
	row.Unfolds, row.Open = s.Total > 0, !list || f.selects(row.Path)
	f.w.Rows = append(f.w.Rows, row)
	if !row.Open || s.Total <= 0 {
		return nil
	}
	if chosen || !list {
		if err := f.addItem(v, s, row, item, level); err != nil {
			return err
		}
	}
	if list {
		return f.addGroups(s, row)
	}
	return nil
}

// addGroups adds a row for the items of each state, which lists them.
func (f *treeBuilder) addGroups(s *flow.Children, above consoleview.WaterfallRow) error {
	n, err := f.c.countItems(s)
	if err != nil {
		return err
	}
	if n.Failed == 1 && f.itemFailed {
		n.Failed = 0 // it is listed above
	}
	for _, g := range []struct {
		state items.State
		count int
		sign  flow.StepState
		words string
	}{
		{items.Failed, n.Failed, flow.StepFailed, "failed item"}, {items.Running, n.Running, flow.StepRunning, "running item"}, {items.Canceled, n.Canceled, flow.StepCanceled, "canceled item"},
		{items.Done, n.Done, flow.StepSucceeded, "finished item"}, {items.Waiting, n.NotStarted, flow.StepPending, "unstarted item"},
	} {
		if g.count == 0 {
			continue
		}
		to := f.link.WithStep(above.Path)
		to.Of, to.State, to.Code, to.Text, to.Show = s.Caller.Path, string(g.state), "", "", 0
		f.w.Rows = append(f.w.Rows, consoleview.WaterfallRow{
			Path: above.Path + ":" + string(g.state), Label: components.Quantity(g.count, g.words), State: string(g.sign), Icon: "boxes", Group: "canvas", Depth: above.Depth + 1, Link: to, Inside: true,
		})
	}
	return nil
}

// addItem adds an item of a step with the steps of its run.
func (f *treeBuilder) addItem(v *runView, s *flow.Children, above consoleview.WaterfallRow, item, level int) error {
	path := consoleview.ItemPath(above.Path, item)
	row := consoleview.WaterfallRow{
		Path: path, Label: "Item " + strconv.Itoa(item), State: string(flow.StepPending), Icon: "workflow", Group: "api", Depth: above.Depth + 1, Note: "Not started", Link: f.link.WithStep(path),
		Current: path == f.link.Step, Inside: true,
	}
	results, err := f.c.s.Store.ReadChildren(f.c.Ctx(), f.c.WorkspaceID(), s.Caller, item, item+1)
	if err != nil {
		return err
	}
	if len(results) == 0 {
		f.show(row, "", &flow.ChildResult{Item: item}, nil)
		return nil
	}
	r := &results[0]
	row.State, row.Note, f.itemFailed = string(r.State), "", r.State == flow.RunFailed
	if r.RunID == "" {
		row.Note = "Could not start"
		f.show(row, "", r, nil)
		return nil
	}
	run, err := f.c.s.Store.FindRun(f.c.Ctx(), f.c.WorkspaceID(), "", r.RunID)
	if err != nil {
		return err
	}
	child, err := f.c.viewRun(run)
	if err != nil {
		return err
	}
	open := components.RunPath(string(run.ID))
	if !v.isMap(s.Caller.Path, s) {
		row.Label = child.flow.Name
	}
	if run.Caller == nil || run.Caller.RunID != s.Caller.RunID {
		row.State, row.Note = string(flow.StepReused), "Taken over from an earlier run"
		f.show(row, open, r, child)
		return nil
	}
	begin, end := child.span(f.c.s.Now())
	b := timeSpan(f.begin, begin, end, row.State)
	b.Title = b.State + " after " + consoleview.Precisely(b.From) + ", took " + consoleview.Precisely(b.To-b.From)
	row.Bars, row.Began, row.Duration, row.Unfolds, row.Open = []consoleview.WaterfallBar{b}, true, end.Sub(begin), true, true
	if run.State.Ended() && run.Usage.CostNanoUSD > 0 {
		row.Cost = components.Money(run.Usage.CostNanoUSD.Micros())
	}
	f.show(row, open, r, child)
	return f.add(child, path+"/", level+1)
}

// show adds the row of an item, and its details if it is selected. open is the URL of its run.
func (f *treeBuilder) show(row consoleview.WaterfallRow, open string, r *flow.ChildResult, child *runView) {
	f.w.Rows = append(f.w.Rows, row)
	if !row.Current {
		return
	}
	d := &consoleview.StepView{Path: row.Path, Label: row.Label, State: row.State, Icon: row.Icon, Group: row.Group, RunPath: open, Inputs: valueViews(r.Inputs), Note: row.Note}
	for _, v := range valueViews(r.Outputs) {
		d.Outputs = append(d.Outputs, components.OutputView{ValueView: v})
	}
	f.detail = d
	if r.Error == nil {
		return
	}
	if child == nil {
		child = &runView{run: &flow.Run{}}
	}
	d.Error = child.runError(r.Error)
	if failed := child.step(r.Error.Node); failed != nil {
		d.Meta = []string{"Failed at " + child.label(failed.Node)}
		d.Tries = child.tryLines(failed)
	}
}

// finish adds to the details of the selected step what depends on the other rows.
func (f *treeBuilder) finish(v *runView) error {
	d := f.detail
	for i := range f.w.Rows {
		if !f.w.Rows[i].Current {
			continue
		}
		if i > 0 {
			d.Previous = &f.w.Rows[i-1].Link
		}
		if i+1 < len(f.w.Rows) {
			d.Next = &f.w.Rows[i+1].Link
		}
	}
	d.Tab = f.tab()
	top := topNode(d.Path)
	if d.Path != top {
		d.Above = "in " + v.label(top)
	} else if n := v.node(top); n != nil {
		d.EditPath = string(components.FlowURL(string(v.run.FlowID), "/node/"+url.PathEscape(top)))
		d.UsedBy = f.usedBy(v, top)
	}
	s := v.children[top]
	if s == nil || !v.isMap(top, s) {
		return nil
	}
	if item, ok := parseItem(d.Path, top); !ok && d.Path != top || ok && d.Path != consoleview.ItemPath(top, item) {
		return nil // a step of an item
	}
	var err error
	d.Items, err = f.c.childStep(v, s, f.link)
	return err
}

// tab returns the part of the selected step that is shown: the requested one, or for a failed step
// its attempts.
func (f *treeBuilder) tab() string {
	switch d := f.detail; {
	case f.link.Tab != "":
		return f.link.Tab
	case d.State == string(flow.StepFailed) && len(d.Tries) > 0:
		return "attempts"
	}
	return "output"
}

// usedBy returns the steps that take values of a step.
func (f *treeBuilder) usedBy(v *runView, node string) (list []consoleview.StepRef) {
	seen := map[string]bool{}
	for _, e := range v.doc.Edges {
		to := v.step(e.ToNode())
		if e.FromNode() != node || to == nil || seen[to.Node] {
			continue
		}
		seen[to.Node] = true
		ref := consoleview.StepRef{Label: v.label(to.Node), Link: f.link.WithStep(to.Node)}
		ref.Icon, ref.Group = v.face(to)
		list = append(list, ref)
	}
	return list
}
