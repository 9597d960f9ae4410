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
	l := consoleview.RunLink{RunID: string(run.ID), Step: c.QueryParam("step"), Of: c.QueryParam("of"), Code: c.QueryParam("code"), Text: strings.TrimSpace(c.QueryParam("q")), Show: min(max(show, 0), maxShown)}
	if state := items.State(c.QueryParam("items")); slices.Contains([]items.State{items.Done, items.Running, items.Failed, items.Waiting}, state) {
		l.State = string(state)
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

// runChildren returns the steps that run a flow for each item of a list, in the order of
// the flow.
func (c *call) runChildren(v *runView, link consoleview.RunLink) (list []consoleview.ChildStep, err error) {
	for _, path := range v.order {
		s := v.children[path]
		if s == nil || !v.isMap(path, s) {
			continue
		}
		step, err := c.childStep(v, s, link)
		if err != nil {
			return nil, err
		}
		list = append(list, step)
	}
	return list, nil
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

// childStep reads the items of a step. The filter of the page applies to one step only.
func (c *call) childStep(v *runView, s *flow.Children, link consoleview.RunLink) (consoleview.ChildStep, error) {
	path := s.Caller.Path
	if link.Of != path {
		link = consoleview.RunLink{RunID: link.RunID, Step: link.Step, Of: path}
	}
	total := max(s.Total, 0)
	out := consoleview.ChildStep{
		Path: path, Name: v.label(path), Icon: "list-tree", Group: "control", Total: total, Done: s.Succeeded, Running: s.Running, Failed: s.Failed,
		Waiting: max(0, total-s.Succeeded-s.Failed-s.Running), Reused: s.Reused, Cost: costText(s.Usage), Link: link, Left: v.timeLeft(s, c.s.Now()),
		MayRetry: c.MayEdit() && v.run.State.Ended() && s.Failed > 0,
	}
	n := v.doc.Node(path)
	facts := []string{"", components.Count(s.Concurrency) + " at a time", "stops when an item fails"}
	if k := c.s.Kinds.For(n); k != nil {
		out.Icon, out.Group, facts[0] = k.Icon, components.GroupWord(k.Group), k.Title
	}
	if s.KeepErrors {
		facts[2] = "keeps going when an item fails"
	}
	out.About = strings.Join(slices.DeleteFunc(facts, func(s string) bool { return s == "" }), " · ")
	if f, err := c.s.Store.FindFlow(c.Ctx(), c.WorkspaceID(), s.FlowID); err == nil {
		out.Flow, out.FlowPath = f.Name, "/flows/"+string(f.ID)
	}
	if err := c.fillStrip(&out, s, link); err != nil {
		return out, err
	}
	failures, err := c.s.Store.ListFailures(c.Ctx(), s.Caller, maxFailures)
	if err != nil {
		return out, err
	}
	out.Some = len(failures) == maxFailures
	for _, g := range items.GroupByCode(failures) {
		to := link
		to.State, to.Code, to.Text, to.Show = string(items.Failed), string(g.Code), "", 0
		out.Groups = append(out.Groups, consoleview.ItemErrors{Count: g.Count, Code: string(g.Code), Message: g.First.Error.Message, Advice: advice.For(g.First.Error), Link: to})
	}
	return out, c.fillItems(&out, s, link)
}

// fillStrip adds the cells of the strip, which together represent all items.
func (c *call) fillStrip(out *consoleview.ChildStep, s *flow.Children, link consoleview.RunLink) error {
	out.Size = items.CellSize(out.Total)
	cells, err := c.s.Store.Strip(c.Ctx(), s.Caller, out.Size)
	if err != nil {
		return err
	}
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
			}
		}
		out.Cells = append(out.Cells, cell)
	}
	return nil
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

// selectedStep returns the path of the step whose details are shown: the requested one, or
// else the step that made the run fail, with the item that made that step fail.
func (c *call) selectedStep(v *runView, requested string) (string, error) {
	if requested != "" {
		if v.step(topNode(requested)) == nil {
			return "", nil
		}
		return requested, nil
	}
	if v.run.State != flow.RunFailed || v.run.Error == nil {
		return "", nil
	}
	path := v.run.Error.Node
	if s := v.children[path]; s != nil {
		failures, err := c.s.Store.ListFailures(c.Ctx(), s.Caller, maxFailures)
		if err != nil || len(failures) == 0 {
			return path, err
		}
		path = consoleview.ItemPath(path, items.Cause(failures).Item)
	}
	return path, nil
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
			caller.Step = web.NodeLabel(d, run.Caller.Path)
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
