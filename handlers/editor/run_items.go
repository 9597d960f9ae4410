package editor

import (
	"slices"
	"time"

	"sluice/flow"
	"sluice/flow/items"
	"sluice/views/components"
	consoleview "sluice/views/console"
)

// itemsPause is the least time between two looks at the items of a run.
const itemsPause = 500 * time.Millisecond

// itemsEvent is how far the child runs of a step are.
type itemsEvent struct {
	Node    string `json:"node"`
	Done    int    `json:"done"` // items that have ended, failed ones included
	Failed  int    `json:"failed"`
	Total   int    `json:"total"`
	Item    int    `json:"item"`           // to open: the first that failed, or else runs
	Open    string `json:"open,omitempty"` // the flow of the children with the run of this item
	Details string `json:"details"`        // the page of the run with this item
}

// stepItems follows the child runs of a run. Their ends do not change the run that waits
// for them, so they are looked at in intervals while some are open.
type stepItems struct {
	may  bool // the flow has steps that start child runs
	sent map[string]itemsEvent
	due  *time.Timer
}

// newStepItems returns the progress of steps that run other flows, before the first look. The
// timer is stopped until some children are open. Without such steps the store is never read.
func newStepItems(d *flow.Document, kinds *flow.Registry) stepItems {
	due := time.NewTimer(time.Hour)
	due.Stop()
	may := slices.ContainsFunc(d.Nodes, func(n flow.Node) bool {
		k := kinds.Find(n.Kind)
		return k != nil && k.StartsRuns()
	})
	return stepItems{may: may, sent: map[string]itemsEvent{}, due: due}
}

// writeItems adds the steps whose items have changed, and looks again later if some are
// open.
func (s *runStream) writeItems(run *flow.Run) error {
	if !s.items.may {
		return nil
	}
	list, err := s.s.Store.ListChildren(s.Ctx(), s.WorkspaceID(), run.ID)
	if err != nil {
		return err
	}
	var changed []itemsEvent
	open := false
	for i := range list {
		c := &list[i]
		open = open || !c.Ended()
		path := c.Caller.Path
		now := itemsEvent{Node: path, Done: c.Succeeded + c.Failed, Failed: c.Failed, Total: c.Total}
		was := s.items.sent[path]
		was.Item, was.Open, was.Details = 0, "", ""
		if c.Total < 0 || was == now {
			continue
		}
		now.Details = consoleview.StepPath(run.ID, path)
		first, err := s.s.Store.ListItems(s.Ctx(), c.Caller, items.Filter{Limit: 1})
		if err != nil {
			return err
		}
		if len(first) > 0 {
			now.Item, now.Details = first[0].Number, consoleview.StepPath(run.ID, consoleview.ItemPath(path, first[0].Number))
			if child := first[0].Run; child != nil {
				now.Open = string(components.FlowURL(c.FlowID, "?run="+child.ID))
			}
		}
		s.items.sent[path], changed = now, append(changed, now)
	}
	if len(changed) > 0 {
		s.out.Add("", "items", changed)
	}
	if open {
		s.items.due.Reset(itemsPause)
	}
	return nil
}
