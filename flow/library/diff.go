package library

import (
	"context"
	"fmt"

	"sluice/flow"
	"sluice/flow/document"
)

// Changes compares the draft with the live version.
func (l *Library) Changes(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) (*document.Diff, error) {
	f, err := l.Store.FindFlow(ctx, ws, flowID)
	if err != nil {
		return nil, err
	}
	now, _ := document.ParseDocument(f.Draft)
	if now == nil {
		return nil, fmt.Errorf("the stored draft of %s cannot be read", flowID)
	}
	var old *flow.Document
	if f.LiveHash != "" {
		data, err := l.Store.FindDocument(ctx, ws, f.LiveHash)
		if err != nil {
			return nil, fmt.Errorf("find the live document of %s: %w", flowID, err)
		}
		old, _ = document.ParseDocument(data)
	}
	return document.Compare(old, now, l.Kinds), nil
}

// Comparison holds two documents of a flow and their differences.
type Comparison struct {
	Old, Now *flow.Document
	Diff     *document.Diff
}

// CompareVersions compares two versions of a flow; 0 is the draft.
func (l *Library) CompareVersions(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, from, to int64) (*Comparison, error) {
	old, err := l.Document(ctx, ws, flowID, from)
	if err != nil {
		return nil, err
	}
	now, err := l.Document(ctx, ws, flowID, to)
	if err != nil {
		return nil, err
	}
	return &Comparison{old, now, document.Compare(old, now, l.Kinds)}, nil
}
