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

// checkLoosened returns an error if the document has LeakProblems, or asks people less than the live version, and by may not decide that: only
// owners, keys with ScopeAdmin and without limits, and the operator may. It returns the nodes for recordLoosened.
func checkLoosened(ctx context.Context, l *Library, f *flow.Flow, d *flow.Document, by string) (nodes []string, err error) {
	if err := documentInvalid(document.LeakProblems(d, l.Kinds)); err != nil {
		return nil, err
	}
	live, err := l.liveDocument(ctx, f)
	if err != nil {
		return nil, err
	}
	if nodes = flow.Loosened(d, live, l.Kinds); len(nodes) == 0 {
		return nil, nil
	}
	may, err := mayLoosen(ctx, l, f.WorkspaceID, by)
	if err != nil || may {
		return nodes, err
	}
	refused := &flow.Error{Code: flow.CodeDocumentInvalid, Message: "Only an owner, or a key with the scope admin and without limits, can publish tools that do not ask before they change something."}
	for _, id := range nodes {
		for i := range d.Nodes {
			if d.Nodes[i].ID == id {
				refused.Fields = append(refused.Fields, flow.Problem{Pointer: flow.Pointer("nodes", i), Code: "owner_required", Node: id,
					Detail: "This changes something without asking people. Set Ask first to auto or always, or let an owner publish."})
			}
		}
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
func recordLoosened(ctx context.Context, l *Library, f *flow.Flow, d *flow.Document, by flow.Actor, nodes []string) error {
	for _, id := range nodes {
		detail := id
		if n := d.Node(id); n.Tool != nil {
			detail += ": " + n.Tool.Approval
		}
		if err := l.audit(ctx, f, by, "tool.never", detail); err != nil {
			return err
		}
	}
	return nil
}
