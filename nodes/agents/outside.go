package agents

import (
	"context"
	"maps"
	"slices"

	"sluice/flow"
	"sluice/providers"
)

// Enclose returns the input and the items of a turn as they are sent: content from outside is enclosed in a boundary
// that nobody outside knows. Neither is recorded or hashed, so that a rerun on another server reuses the turn.
func (t *Turn) Enclose(ctx context.Context, in *flow.In) (*flow.In, []providers.Item, error) {
	fromOutside := func(item providers.Item) bool { return item.Untrusted || item.Result != nil && item.Result.Untrusted }
	if len(t.Enclosed) == 0 && !slices.ContainsFunc(t.Items, fromOutside) {
		return in, t.Items, nil
	}
	boundary, err := in.Boundary(ctx)
	if err != nil {
		return nil, nil, err
	}
	sent := *in
	sent.Config = maps.Clone(in.Config)
	for _, field := range []string{"system", "prompt", "messages"} {
		if v, set := t.Enclosed[field]; set {
			sent.Config[field] = flow.FillBoundaries(v, boundary)
		}
	}
	items := slices.Clone(t.Items)
	for i := range items {
		switch item := &items[i]; {
		case item.Untrusted:
			item.Text = flow.FillBoundary(item.Text, boundary)
		case fromOutside(*item):
			result := *item.Result
			result.Text = flow.FillBoundary(flow.Enclose(result.Text), boundary)
			item.Result = &result
		}
	}
	return &sent, items, nil
}
