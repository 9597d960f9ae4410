package editor

import (
	"slices"
	"time"

	"sluice/flow"
	"sluice/flow/items"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
)

// itemsPause is the interval at which open items of a run are polled.
const itemsPause = 500 * time.Millisecond

// itemsEvent is the progress of the child runs of a step.
type itemsEvent struct {
	Node    string `json:"node"`
	Done    int    `json:"done"` // items that have ended, including failed ones
	Failed  int    `json:"failed"`
	Total   int    `json:"total"`
	Item    int    `json:"item"`           // number of the item to open: the first failed one, else the first running one
	Open    string `json:"open,omitempty"` // URL of the called flow with the run of this item
	Details string `json:"details"`        // URL of the page of the run with this item
}

// stepItems tracks the child runs of a run. The end of a child does not change the run that
// waits for it, so children are polled while some are open.
type stepItems struct {
	hasChildren bool // the flow has steps that start child runs
	sent        map[string]itemsEvent
	due         *time.Timer // fires at the next poll
}

// newStepItems returns the tracker for a document. Its timer is stopped until writeItems finds
// open children. If no step starts child runs, the store is never read.
func newStepItems(d *flow.Document, kinds *flow.Registry) stepItems {
	hasChildren := slices.ContainsFunc(d.Nodes, func(n flow.Node) bool {
		k := kinds.Find(n.Kind)
		return k != nil && k.StartsRuns()
	})
	return stepItems{hasChildren: hasChildren, sent: map[string]itemsEvent{}, due: web.StoppedTimer()}
}

// writeItems adds the steps whose items have changed, and schedules the next poll if some
// are open.
func (s *runStream) writeItems(run *flow.Run) error {
	if !s.items.hasChildren {
		return nil
	}
	list, err := s.s.Store.ListChildren(s.Ctx(), s.WorkspaceID(), run.ID)
	if err != nil {
		return err
	}
	s.agents.addChildren(list)
	var changed []itemsEvent
	open := false
	for i := range list {
		c := &list[i]
		open = open || !c.Ended()
		path := c.Caller.Path
		current := itemsEvent{Node: path, Done: c.Succeeded + c.Failed, Failed: c.Failed, Total: c.Total}
		if c.Failed > 0 {
			cells, err := s.s.Store.Strip(s.Ctx(), c.Caller, items.CellSize(c.Total))
			if err != nil {
				return err
			}
			current.Failed = items.Count(c, cells).Failed
		}
		previous := s.items.sent[path]
		previous.Item, previous.Open, previous.Details = 0, "", ""
		if c.Total < 0 || previous == current {
			continue
		}
		current.Details = consoleview.StepPath(string(run.ID), path)
		first, err := s.s.Store.ListItems(s.Ctx(), c.Caller, items.Filter{Limit: 1})
		if err != nil {
			return err
		}
		if len(first) > 0 {
			current.Item, current.Details = first[0].Number, consoleview.StepPath(string(run.ID), consoleview.ItemPath(path, first[0].Number))
			if child := first[0].Run; child != nil {
				current.Open = string(components.FlowURL(string(c.FlowID), "?run="+string(child.ID)))
			}
		}
		s.items.sent[path], changed = current, append(changed, current)
	}
	if len(changed) > 0 {
		s.out.Add("", "items", changed)
	}
	if open {
		s.items.due.Reset(itemsPause)
	}
	return nil
}
