package library

import (
	"context"
	"fmt"
	"slices"

	"sluice/flow"
)

// CredentialUse is a node that uses a credential.
type CredentialUse struct {
	FlowID   flow.FlowID
	FlowName string
	Node     string
	Live     bool // in the live version; otherwise in the draft
}

// DocumentStore reads the flows and credentials of a workspace.
type DocumentStore interface {
	flow.CredentialStore
	FlowReader
}

// FlowReader reads flows and the documents of their versions.
type FlowReader interface {
	ListFlows(ctx context.Context, ws flow.WorkspaceID, afterID flow.FlowID, limit int) ([]flow.Flow, error)
	FindDocument(ctx context.Context, ws flow.WorkspaceID, hash string) ([]byte, error)
}

// usesPage is how many flows are read at a time.
const usesPage = 100

// CredentialUses returns the nodes that use credentials, by credential: nodes that name one, and
// nodes that use the default for their provider. provider returns the provider of a node, or "".
func CredentialUses(ctx context.Context, store DocumentStore, ws flow.WorkspaceID, provider func(n *flow.Node) string) (map[string][]CredentialUse, error) {
	list, err := store.ListCredentials(ctx, ws)
	if err != nil {
		return nil, fmt.Errorf("list the credentials of %s: %w", ws, err)
	}
	u := &credentialUses{store: store, list: list, provider: provider, uses: map[string][]CredentialUse{}}
	err = eachDocument(ctx, store, ws, u.ofDocument)
	return u.uses, err
}

// credentialUses collects which nodes use which credentials, including defaults of providers.
type credentialUses struct {
	store    DocumentStore
	list     []flow.Credential
	provider func(n *flow.Node) string
	uses     map[string][]CredentialUse
}

// ofDocument adds the uses in a draft or a live version.
func (u *credentialUses) ofDocument(f *flow.Flow, d *flow.Document, live bool) {
	for i := range d.Nodes {
		n := &d.Nodes[i]
		names := flow.CredentialsIn(n.Config)
		if provider := u.provider(n); provider != "" && !flow.IsSecretRef(n.Config["credential"]) {
			if name := flow.ChooseCredential(u.list, provider); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		for _, name := range names {
			u.uses[name] = append(u.uses[name], CredentialUse{FlowID: f.ID, FlowName: f.Name, Node: n.ID, Live: live})
		}
	}
}
