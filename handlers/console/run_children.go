package console

import (
	"slices"
	"strconv"
	"time"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
)

// Of the items of a step, the page shows the failed ones first, then those at work, and
// looks for them among the first itemsRead.
const (
	itemsShown = 20
	itemsRead  = 1000
	childPoll  = time.Second
)

// runChildren returns the child runs of a run's steps.
func (c *call) runChildren(v *runView, steps []flow.Children) (list []consoleview.ChildStep, err error) {
	for i := range steps {
		s := &steps[i]
		out := consoleview.ChildStep{
			Name: v.label(s.Caller.Path), Total: max(s.Total, 0), Succeeded: s.Succeeded, Failed: s.Failed, Running: s.Running, Reused: s.Reused, Cost: costText(s.Usage),
		}
		if f, err := c.s.Store.FindFlow(c.Ctx(), c.WorkspaceID(), s.FlowID); err == nil {
			out.Flow, out.FlowPath = f.Name, "/flows/"+f.ID
		}
		page, err := c.s.Store.ReadChildren(c.Ctx(), c.WorkspaceID(), s.Caller, 0, min(out.Total, itemsRead))
		if err != nil {
			return nil, err
		}
		for _, pick := range []func(flow.RunState) bool{
			func(s flow.RunState) bool { return s == flow.RunFailed || s == flow.RunCanceled },
			func(s flow.RunState) bool { return !s.Ended() },
			func(s flow.RunState) bool { return s == flow.RunSucceeded },
		} {
			for k := range page {
				if pick(page[k].State) && len(out.Items) < itemsShown {
					out.Items = append(out.Items, childItem(&page[k]))
				}
			}
		}
		list = append(list, out)
	}
	return list, nil
}

func childItem(r *flow.ChildResult) consoleview.ChildItem {
	item := consoleview.ChildItem{Number: r.Item, State: string(r.State), Text: contract.Summary(r.Inputs)}
	if r.RunID != "" {
		item.Path = components.RunPath(r.RunID)
	}
	if r.Error != nil {
		item.Text, item.Code = r.Error.Message, string(r.Error.Code)
	}
	return item
}

// callerOf returns the run that started a child run, and which item it is for.
func (c *call) callerOf(run *flow.Run) (caller *consoleview.CallerView, err error) {
	if run.Caller == nil {
		return nil, nil
	}
	above, err := c.s.Store.FindRun(c.Ctx(), c.WorkspaceID(), "", run.Caller.RunID)
	if err != nil {
		return nil, err
	}
	f, err := c.s.Store.FindFlow(c.Ctx(), c.WorkspaceID(), above.FlowID)
	if err != nil {
		return nil, err
	}
	caller = &consoleview.CallerView{Flow: f.Name, Path: components.RunPath(above.ID), Step: run.Caller.Path, Item: strconv.Itoa(run.Caller.Item)}
	if data, err := c.s.Store.FindDocument(c.Ctx(), c.WorkspaceID(), above.DocumentHash); err == nil {
		if d, _ := document.ParseDocument(data); d != nil {
			caller.Step = web.NodeLabel(d, run.Caller.Path)
		}
	}
	return caller, nil
}

// pollOf returns how long the page waits for a change of a run. The ends of child runs
// do not change their caller, so while some are open, the page looks again soon.
func (c *call) pollOf(run *flow.Run) time.Duration {
	list, err := c.s.Store.ListChildren(c.Ctx(), c.WorkspaceID(), run.ID)
	if err == nil && slices.ContainsFunc(list, func(s flow.Children) bool { return !s.Ended() }) {
		return childPoll
	}
	return maxPoll
}
