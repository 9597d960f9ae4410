package flow

import (
	"context"
	"fmt"
	"slices"
)

// CredentialUse is a node that names a credential.
type CredentialUse struct {
	FlowID, FlowName string
	Node             string
	Live             bool // in the version that the API runs; otherwise in the draft
}

// DocumentStore reads the flows of a workspace.
type DocumentStore interface {
	ListFlows(ctx context.Context, ws, afterID string, limit int) ([]Flow, error)
	FindDocument(ctx context.Context, ws, hash string) ([]byte, error)
}

// usesPage is how many flows are read at a time.
const usesPage = 100

// CredentialUses finds the nodes that name credentials, by credential. Nodes
// that only name a provider, and take whatever credential there is for it, are
// not among them.
func CredentialUses(ctx context.Context, store DocumentStore, ws string) (map[string][]CredentialUse, error) {
	uses := map[string][]CredentialUse{}
	for after := ""; ; {
		flows, err := store.ListFlows(ctx, ws, after, usesPage)
		if err != nil {
			return nil, fmt.Errorf("list the flows of %s: %w", ws, err)
		}
		for i := range flows {
			if err := usesOf(ctx, store, &flows[i], uses); err != nil {
				return nil, err
			}
			after = flows[i].ID
		}
		if len(flows) < usesPage {
			return uses, nil
		}
	}
}

func usesOf(ctx context.Context, store DocumentStore, f *Flow, uses map[string][]CredentialUse) error {
	note := func(document []byte, live bool) {
		d, _ := ParseDocument(document)
		for i := range d.Nodes {
			for _, name := range credentialsIn(d.Nodes[i].Config) {
				uses[name] = append(uses[name], CredentialUse{FlowID: f.ID, FlowName: f.Name, Node: d.Nodes[i].ID, Live: live})
			}
		}
	}
	note(f.Draft, false)
	if f.LiveHash == "" {
		return nil
	}
	document, err := store.FindDocument(ctx, f.WorkspaceID, f.LiveHash)
	if err != nil {
		return fmt.Errorf("find the live document of %s: %w", f.ID, err)
	}
	note(document, true)
	return nil
}

// credentialsIn lists the credentials that a config value names, each once.
func credentialsIn(v any) []string {
	if name, ok := SecretRef(v); ok {
		return []string{name}
	}
	var list []string
	switch v := v.(type) {
	case map[string]any:
		for _, field := range sortedNames(v) {
			list = append(list, credentialsIn(v[field])...)
		}
	case []any:
		for _, item := range v {
			list = append(list, credentialsIn(item)...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
