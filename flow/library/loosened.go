package library

import (
	"context"
	"fmt"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
)

// RightsStore finds out what somebody who publishes may do.
type RightsStore interface {
	FindMember(ctx context.Context, ws flow.WorkspaceID, userID string) (*flow.Member, error)
	FindKey(ctx context.Context, ws flow.WorkspaceID, id string) (*flow.Key, error)
}

// checkLoosened returns an error if the document asks people less than the live version and by may not decide that: only
// owners, keys with ScopeAdmin and without limits, and the operator may. It returns the nodes for recordLoosened.
func checkLoosened(ctx context.Context, l *Library, f *flow.Flow, d *flow.Document, by string) ([]flow.LoosenedNode, error) {
	reach, err := reaches(ctx, l, f.WorkspaceID, d)
	if err != nil {
		return nil, err
	}
	if err := documentInvalid(document.LeakProblems(d, l.Kinds, reach)); err != nil {
		return nil, err
	}
	live, err := l.liveDocument(ctx, f)
	if err != nil {
		return nil, err
	}
	writes := func(n *flow.Node) bool {
		k := l.Kinds.For(n)
		if k.StartsRuns() {
			return reach(n).Effect() == flow.EffectWrite
		}
		return flow.Writes(n, k)
	}
	nodes := flow.Loosened(d, live, l.Kinds, writes)
	if len(nodes) == 0 {
		return nil, nil
	}
	may, err := mayLoosen(ctx, l, f.WorkspaceID, by)
	if err != nil || may {
		return nodes, err
	}
	refused := &flow.Error{Code: flow.CodeDocumentInvalid, Message: "Only an owner, or a key with the scope admin and without limits, can publish tools that do not ask before they change something."}
	for _, n := range nodes {
		p := flow.Problem{Pointer: flow.Pointer("nodes", n.Index), Code: "owner_required", Node: n.Node,
			Detail: "This changes something without asking people. Set Ask first to auto or always, or let an owner publish."}
		if n.ClaimsRead() {
			p.Detail = "This changes something, but its effect is set to read. Remove the effect, set Ask first to always, or let an owner publish."
		}
		refused.Fields = append(refused.Fields, p)
	}
	return nil, refused
}

// mayLoosen reports whether somebody may publish tools that do not ask.
func mayLoosen(ctx context.Context, l *Library, ws flow.WorkspaceID, by string) (bool, error) {
	switch {
	case l.Rights == nil:
	case strings.HasPrefix(by, flow.PrefixUser):
		m, err := l.Rights.FindMember(ctx, ws, by)
		if err != nil {
			return false, fmt.Errorf("find the member who publishes: %w", err)
		}
		return m.Role == flow.MemberOwner, nil
	case strings.HasPrefix(by, flow.PrefixKey):
		k, err := l.Rights.FindKey(ctx, ws, by)
		if err != nil {
			return false, fmt.Errorf("find the key that publishes: %w", err)
		}
		return k.Has(flow.ScopeAdmin) && !Limited(k), nil
	}
	return true, nil
}

// recordLoosened records the tools that do not ask in the audit log.
func recordLoosened(ctx context.Context, l *Library, f *flow.Flow, by flow.Actor, nodes []flow.LoosenedNode) error {
	for _, n := range nodes {
		if err := l.audit(ctx, f, by, "tool.never", n.Node+": "+n.How); err != nil {
			return err
		}
	}
	return nil
}
