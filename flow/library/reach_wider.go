package library

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/sorting"
)

// ReachStore stores what tools that run flows could do when the version of their agent was published.
type ReachStore interface {
	SetVersionReach(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, n int64, reach map[string]flow.ToolReach) error
	ListLiveReach(ctx context.Context, ws flow.WorkspaceID) ([]flow.LiveReach, error)
}

// toolReach returns what the tools of a document that run flows can do now, by node. A tool whose flow cannot run is left out.
func toolReach(ctx context.Context, l *Library, ws flow.WorkspaceID, d *flow.Document, find document.Below) (map[string]flow.ToolReach, error) {
	var list map[string]flow.ToolReach
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.Tool == nil || n.Disabled || !l.runsFlow(n) {
			continue
		}
		if _, below, err := find(n); err != nil {
			return nil, err
		} else if below == nil {
			continue
		}
		r, err := document.ReachOfNode(n, l.Kinds, find)
		if err != nil {
			return nil, err
		}
		if list == nil {
			list = map[string]flow.ToolReach{}
		}
		list[n.ID] = r.Tool()
	}
	return list, nil
}

// recordReach stores what the tools of a version that was just published can do. Publishing a document again accepts what its tools
// can do by now.
func recordReach(ctx context.Context, l *Library, f *flow.Flow, v flow.Version, d *flow.Document) error {
	if l.Reach == nil {
		return nil
	}
	reach, err := toolReach(ctx, l, f.WorkspaceID, d, below(ctx, l, f.WorkspaceID))
	if err != nil || reach == nil {
		return err
	}
	if staged, ok := l.Store.(*stagedStore); ok {
		staged.later(func(ctx context.Context) error {
			return l.Reach.SetVersionReach(ctx, f.WorkspaceID, f.ID, staged.versions[f.ID].Number, reach)
		})
		return nil
	}
	return l.Reach.SetVersionReach(ctx, f.WorkspaceID, f.ID, v.Number, reach)
}

// recordApplied is recordReach for the flows that an apply has published. All are live by now.
func recordApplied(ctx context.Context, l *Library, plans []*plan) error {
	for _, p := range plans {
		if !p.publish || p.flow == nil {
			continue
		}
		if err := recordReach(ctx, l, p.flow, flow.Version{Number: p.Version}, p.doc); err != nil {
			return err
		}
	}
	return nil
}

// WidenedTools returns the tools of a version that run flows which can do more than when the version was published: by node, what
// they do now. It is nil for a draft, and for what is not known.
func WidenedTools(ctx context.Context, l *Library, ws flow.WorkspaceID, flowID flow.FlowID, version int64) (map[string][]string, error) {
	if version == 0 {
		return nil, nil
	}
	v, err := l.Store.FindVersion(ctx, ws, flowID, version)
	if flow.IsNotFound(err) || err == nil && len(v.Reach) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the recorded reach of %s: %w", flowID, err)
	}
	return widened(ctx, l, ws, v.DocumentHash, v.Reach, below(ctx, l, ws))
}

// widened compares the tools of a document with their recorded reach.
func widened(ctx context.Context, l *Library, ws flow.WorkspaceID, hash string, recorded map[string]flow.ToolReach, find document.Below) (map[string][]string, error) {
	data, err := l.Store.FindDocument(ctx, ws, hash)
	if err != nil {
		return nil, fmt.Errorf("read a document whose tools may have changed: %w", err)
	}
	d, _ := document.ParseDocument(data)
	if d == nil {
		return nil, nil
	}
	now, err := toolReach(ctx, l, ws, d, find)
	if err != nil {
		return nil, err
	}
	var list map[string][]string
	for node, r := range now {
		was, known := recorded[node]
		if more := was.Wider(r); known && len(more) > 0 {
			if list == nil {
				list = map[string][]string{}
			}
			list[node] = more
		}
	}
	return list, nil
}

// WidenedCaller is a tool of another flow that can do more once a document of a flow is live.
type WidenedCaller struct {
	FlowID     flow.FlowID
	Slug, Name string
	Node       string
	More       []string // what it does then and could not do when its own flow was published
}

// WidenedCallers returns the tools of live versions that run a flow, directly or further below, and could do more with a document as
// its live version than when they were published. Their agents ask people before they call them.
func WidenedCallers(ctx context.Context, l *Library, f *flow.Flow, now *flow.Document) (list []WidenedCaller, err error) {
	if l.Reach == nil {
		return nil, nil
	}
	flows, err := l.Reach.ListLiveReach(ctx, f.WorkspaceID)
	if err != nil {
		return nil, err
	}
	find := below(ctx, l, f.WorkspaceID)
	for i := range flows {
		caller, runs := &flows[i], false
		if caller.FlowID == f.ID {
			continue
		}
		more, err := widened(ctx, l, f.WorkspaceID, caller.DocumentHash, caller.Reach, func(n *flow.Node) (*flow.Flow, *flow.Document, error) {
			called, d, err := find(n)
			if err == nil && called != nil && called.ID == f.ID && n.Config["version"] == nil {
				runs, d = true, now
			}
			return called, d, err
		})
		if err != nil {
			return nil, err
		}
		if !runs {
			continue
		}
		for node, phrases := range more {
			list = append(list, WidenedCaller{caller.FlowID, caller.Slug, caller.Name, node, phrases})
		}
	}
	sorting.By(list, func(a, b WidenedCaller) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Node, b.Node)
	})
	return slices.Clip(list), nil
}
