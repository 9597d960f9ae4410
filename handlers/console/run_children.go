package console

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/items"
	"sluice/handlers/console/advice"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
)

const (
	maxFailures  = 1000        // failed items that are grouped by code
	maxShown     = 1000        // items in a list
	childPoll    = time.Second // interval of polling open child runs
	maxChildPoll = 5 * time.Second
	// pollPerItem is added to childPoll for each item, because a poll of more items
	// takes longer.
	pollPerItem = 50 * time.Microsecond
	// leftAfter is the number of items that must have ended before the remaining
	// time is estimated.
	leftAfter = 10
)

// parseRunLink reads the selection and the filter of a run page from the query.
func (c *call) parseRunLink(run *flow.Run) consoleview.RunLink {
	show, _ := strconv.Atoi(c.QueryParam("show"))
	l := consoleview.RunLink{RunID: string(run.ID), Step: c.QueryParam("step"), Tab: c.QueryParam("tab"), Of: c.QueryParam("of"), Code: c.QueryParam("code"), Text: strings.TrimSpace(c.QueryParam("q")), Show: min(max(show, 0), maxShown)}
	if state := items.State(c.QueryParam("items")); slices.Contains([]items.State{items.Done, items.Running, items.Failed, items.Canceled, items.Waiting}, state) {
		l.State = string(state)
	}
	if only := c.QueryParam("only"); slices.Contains(threadFilters, only) {
		l.Only = only
	}
	if !slices.Contains(consoleview.StepTabs, l.Tab) {
		l.Tab = ""
	}
	return l
}

// isMap reports whether a step runs a flow for each item of a list, not just once.
func (v *runView) isMap(path string, s *flow.Children) bool {
	if v.doc != nil {
		if n := v.doc.Node(path); n != nil {
			return n.Config["over"] != nil
		}
	}
	return s.Total != 1
}

// awaitedText returns the child runs that a waiting run waits for, or "".
func (v *runView) awaitedText() string {
	if v.run.State != flow.RunWaiting {
		return ""
	}
	for _, s := range v.children {
		if !s.Ended() {
			return "for " + components.Quantity(s.Pending+s.Running, "child run")
		}
	}
	return ""
}

// firstResults is the number of items whose outputs are shown while other items run.
const firstResults = 5

// outputsSoFar returns the output lists that child runs of an open run are filling, with the
// values of the first items. It returns nil for a run that has ended.
func (c *call) outputsSoFar(v *runView) (list []components.ValueView, err error) {
	if v.run.State.Ended() || v.doc == nil {
		return nil, nil
	}
	for _, path := range v.order {
		s := v.children[path]
		if s == nil || !v.isMap(path, s) {
			continue
		}
		first, err := c.s.Store.ReadChildren(c.Ctx(), c.WorkspaceID(), s.Caller, 0, min(max(s.Total, 0), firstResults))
		if err != nil {
			return nil, err
		}
		for _, out := range items.SoFar(v.doc, path, first) {
			list = append(list, components.ValueView{Name: out.Name, Value: out.Values})
		}
	}
	return list, nil
}

// countItems counts the items of a step by state.
func (c *call) countItems(s *flow.Children) (items.Counts, error) {
	cells, err := c.s.Store.Strip(c.Ctx(), s.Caller, items.CellSize(s.Total))
	return items.Count(s, cells), err
}

// itemRetry returns what a rerun of a step can execute, or nil if all items succeeded. A step that
// keeps errors has already continued without the failed items.
func itemRetry(s *flow.Children, n items.Counts) *consoleview.ItemRetry {
	left := n.Canceled + n.NotStarted
	if n.Failed+left == 0 || n.Running > 0 {
		return nil
	}
	out := &consoleview.ItemRetry{Failed: n.Failed, Left: left}
	if !s.KeepErrors {
		out.Others = n.Done + left
	}
	return out
}

// childStep reads the items of a step. The filter of the page applies to one step only.
func (c *call) childStep(v *runView, s *flow.Children, link consoleview.RunLink) (*consoleview.ChildStep, error) {
	path := s.Caller.Path
	if link.Of != path {
		link = consoleview.RunLink{RunID: link.RunID, Step: link.Step, Tab: link.Tab, Of: path}
	}
	total := max(s.Total, 0)
	out := &consoleview.ChildStep{Path: path, Name: v.label(path), Total: total, Reused: s.Reused, Cost: costText(s.Usage), Link: link, Left: v.timeLeft(s, c.s.Now())}
	out.About = components.Count(s.Concurrency) + " at a time · stops when an item fails"
	if s.KeepErrors {
		out.About = components.Count(s.Concurrency) + " at a time · keeps going when an item fails"
	}
	if f, err := c.s.Store.FindFlow(c.Ctx(), c.WorkspaceID(), s.FlowID); err == nil {
		out.Flow, out.FlowPath = f.Name, "/flows/"+string(f.ID)
	}
	cells, err := c.s.Store.Strip(c.Ctx(), s.Caller, items.CellSize(total))
	if err != nil {
		return nil, err
	}
	n := items.Count(s, cells)
	out.Done, out.Failed, out.Running, out.Canceled, out.NotStarted = n.Done, n.Failed, n.Running, n.Canceled, n.NotStarted
	if v.run.State.Ended() {
		out.Retry = itemRetry(s, n)
	}
	fillStrip(out, cells, link)
	failures, err := c.s.Store.ListFailures(c.Ctx(), s.Caller, maxFailures)
	if err != nil {
		return nil, err
	}
	out.Some = len(failures) == maxFailures
	for _, g := range items.GroupByCode(failures) {
		to := link
		to.State, to.Code, to.Text, to.Show = string(items.Failed), string(g.Code), "", 0
		out.Groups = append(out.Groups, consoleview.ItemErrors{Count: g.Count, Code: string(g.Code), Message: g.First.Error.Message, Advice: advice.For(g.First.Error), Link: to})
	}
	return out, c.fillItems(out, s, link)
}

// fillStrip adds the cells of the strip, which together represent all items.
func fillStrip(out *consoleview.ChildStep, cells []items.Cell, link consoleview.RunLink) {
	out.Size = items.CellSize(out.Total)
	selected, chosen := parseItem(link.Step, out.Path)
	for at := 0; at*out.Size < out.Total; at++ {
		cell := consoleview.StripCell{State: string(items.Waiting), Item: at * out.Size, Current: chosen && selected/out.Size == at}
		if at < len(cells) {
			state := cells[at].State()
			cell.State = string(state)
			switch state {
			case items.Failed:
				cell.Item = cells[at].Failed
			case items.Running:
				cell.Item = cells[at].Running
			case items.Canceled:
				cell.Item = cells[at].Canceled
			}
		}
		out.Cells = append(out.Cells, cell)
	}
}

// fillItems adds the items that match the filter.
func (c *call) fillItems(out *consoleview.ChildStep, s *flow.Children, link consoleview.RunLink) error {
	f := items.Filter{State: items.State(link.State), Code: flow.Code(link.Code), Text: link.Text, Limit: max(link.Show, consoleview.ItemsShown)}
	list, err := c.s.Store.ListItems(c.Ctx(), s.Caller, f)
	if err != nil {
		return err
	}
	selected, chosen := parseItem(link.Step, out.Path)
	for i := range list {
		item := childItem(&list[i], c.s.Now())
		item.MayRepeat = c.MayEdit() && list[i].Run != nil && list[i].Run.Erased == "" && (list[i].Run.State == flow.RunFailed || list[i].Run.State == flow.RunCanceled)
		item.Link, item.Current = link.WithStep(consoleview.ItemPath(out.Path, item.Number)), chosen && item.Number == selected
		out.Items = append(out.Items, item)
	}
	return nil
}

// childItem converts an item.
func childItem(i *items.Item, now time.Time) consoleview.ChildItem {
	item := consoleview.ChildItem{Number: i.Number, State: string(flow.StepPending), Input: contract.Summary(i.Inputs), Tries: i.Tries, Duration: "–", Cost: "–"}
	if i.Error != nil {
		item.State, item.Code = string(flow.StepFailed), string(i.Error.Code)
	}
	run := i.Run
	if run == nil {
		return item
	}
	item.State, item.Path, item.Output = string(run.State), components.RunPath(string(run.ID)), contract.Summary(run.Outputs)
	if i.Reused {
		item.State = string(flow.StepReused)
		return item
	}
	if !run.StartedAt.IsZero() {
		end := run.EndedAt
		if end.IsZero() {
			end = now
		}
		item.Duration = consoleview.Precisely(max(0, end.Sub(run.StartedAt)))
	}
	if run.State.Ended() {
		item.Cost = costText(run.Usage)
	}
	return item
}

// timeLeft estimates the remaining time from the items that have ended, or returns "".
func (v *runView) timeLeft(s *flow.Children, now time.Time) string {
	step := v.step(s.Caller.Path)
	ended := s.Succeeded + s.Failed - s.Reused
	rest := s.Total - s.Succeeded - s.Failed
	if step == nil || s.Ended() || ended < leftAfter || rest <= 0 || s.Stopped {
		return ""
	}
	left := now.Sub(step.StartedAt) * time.Duration(rest) / time.Duration(ended)
	return "about " + components.Duration(max(left.Round(time.Second), time.Second)) + " left"
}

// parseItem returns the item of a step that a path selects: 3 for the path "each[3]/call" and
// the step "each".
func parseItem(path, step string) (item int, ok bool) {
	rest, ok := strings.CutPrefix(path, step+"[")
	if !ok {
		return 0, false
	}
	number, _, ok := strings.Cut(rest, "]")
	item, err := strconv.Atoi(number)
	return item, ok && err == nil && item >= 0 && item < flow.MaxChildItems
}

// selectedStep returns the path of the step whose details are shown: the requested one, or else the
// one that made the run fail, that is in progress, or that took the longest.
func (v *runView) selectedStep(requested string, failed *consoleview.RunError) string {
	switch {
	case requested != "" && v.step(topNode(requested)) != nil:
		return requested
	case failed != nil && failed.Item != nil:
		return failed.Item.Path
	case failed != nil && v.step(failed.Node) != nil:
		return failed.Node
	}
	path := v.notableStep()
	if a := v.findAgent(path); a != nil && a.step.Path == path {
		return a.notable()
	}
	return path
}

// notableStep returns the path of the step in progress, or else of the one that took the longest;
// "" without steps.
func (v *runView) notableStep() (path string) {
	longest := time.Duration(-1)
	for i := range v.steps {
		s := &v.steps[i]
		if s.Path != s.Node {
			continue
		}
		if s.Attempt > 0 && !s.State.Ended() {
			return s.Path
		}
		took := time.Duration(-1)
		if s.Attempt > 0 {
			took = s.EndedAt.Sub(s.StartedAt)
		}
		if path == "" || took > longest {
			path, longest = s.Path, took
		}
	}
	return path
}

// findCaller returns the run that started a child run, and the number of its item.
func (c *call) findCaller(run *flow.Run) (caller *consoleview.CallerView, err error) {
	if run.Caller == nil {
		return nil, nil
	}
	parent, err := c.s.Store.FindRun(c.Ctx(), c.WorkspaceID(), "", run.Caller.RunID)
	if err != nil {
		return nil, err
	}
	f, err := c.s.Store.FindFlow(c.Ctx(), c.WorkspaceID(), parent.FlowID)
	if err != nil {
		return nil, err
	}
	item := strconv.Itoa(run.Caller.Item)
	caller = &consoleview.CallerView{Flow: f.Name, Path: consoleview.StepPath(string(parent.ID), consoleview.ItemPath(run.Caller.Path, run.Caller.Item)), Step: run.Caller.Path, Item: item}
	if data, err := c.s.Store.FindDocument(c.Ctx(), c.WorkspaceID(), parent.DocumentHash); err == nil {
		if d, _ := document.ParseDocument(data); d != nil {
			caller.Step = web.NodeTitle(d, c.s.Kinds, run.Caller.Path)
		}
	}
	return caller, nil
}

// pollTimeout returns the time that a long poll waits for a change of a run. The end of a child
// run does not change its caller, so the timeout is short while child runs are open.
func (c *call) pollTimeout(run *flow.Run) time.Duration {
	list, err := c.s.Store.ListChildren(c.Ctx(), c.WorkspaceID(), run.ID)
	if err != nil {
		return maxPoll
	}
	pause := time.Duration(0)
	for i := range list {
		if !list[i].Ended() {
			pause = max(pause, min(childPoll+time.Duration(max(list[i].Total, 0))*pollPerItem, maxChildPoll))
		}
	}
	return cmp.Or(pause, maxPoll)
}
