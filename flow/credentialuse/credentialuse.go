// Package credentialuse finds the nodes of flows that need credentials. It must not know what credentials may be used for, and who may see them.
package credentialuse

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"sluice/flow"
	"sluice/flow/cache"
	"sluice/flow/document"
)

// Use is a node that uses a credential.
type Use struct {
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

// Store is a DocumentStore that also lists what flows are now without reading their documents: their names, the revisions of their
// drafts and the hashes of their live versions.
type Store interface {
	DocumentStore
	ListFlowRevisions(ctx context.Context, ws flow.WorkspaceID) ([]flow.Flow, error)
}

// FlowReader reads flows and the documents of their versions.
type FlowReader interface {
	ListFlows(ctx context.Context, ws flow.WorkspaceID, afterID flow.FlowID, limit int) ([]flow.Flow, error)
	FindDocument(ctx context.Context, ws flow.WorkspaceID, hash string) ([]byte, error)
}

// usesPage is how many flows are read at a time.
const usesPage = 100

// Finder finds the nodes that use credentials. It remembers what it has found in a flow until its draft or its live version
// changes, so that flows are not read and parsed again for each list of credentials. It is safe for concurrent use.
type Finder struct {
	store    Store
	provider func(n *flow.Node) string
	known    cache.Cache[string, []nodeUse] // by usesKey
}

// cachedUses is for how many flows uses are remembered.
const cachedUses = 16 << 10

// New returns a finder. provider returns the provider of a node, or "".
func New(store Store, provider func(n *flow.Node) string) *Finder {
	return &Finder{store, provider, cache.New[string, []nodeUse](cachedUses)}
}

// nodeUse is a node of a draft or a live version that needs credentials.
type nodeUse struct {
	node        string
	live        bool
	credentials []string // that it names
	provider    string   // whose default credential it uses; "" for none
}

// Find returns the nodes that use credentials, by credential: nodes that name one, and nodes that use the default for their provider.
func (u *Finder) Find(ctx context.Context, ws flow.WorkspaceID) (map[string][]Use, error) {
	list, err := u.store.ListCredentials(ctx, ws)
	if err != nil {
		return nil, fmt.Errorf("list the credentials of %s: %w", ws, err)
	}
	flows, err := u.store.ListFlowRevisions(ctx, ws)
	if err != nil {
		return nil, err
	}
	uses, after := map[string][]Use{}, flow.FlowID("")
	for page := range slices.Chunk(flows, usesPage) {
		found, err := u.ofFlows(ctx, ws, after, page)
		if err != nil {
			return nil, err
		}
		after = page[len(page)-1].ID
		for i := range page {
			for _, n := range found[i] {
				names := n.credentials
				if name := flow.ChooseCredential(list, n.provider); n.provider != "" && name != "" && !slices.Contains(names, name) {
					names = append(slices.Clone(names), name)
				}
				for _, name := range names {
					uses[name] = append(uses[name], Use{FlowID: page[i].ID, FlowName: page[i].Name, Node: n.node, Live: n.live})
				}
			}
		}
	}
	return uses, nil
}

// usesKey identifies what a flow is now.
func usesKey(f *flow.Flow) string {
	return string(f.WorkspaceID) + " " + string(f.ID) + " " + strconv.FormatInt(f.Rev, 10) + " " + f.LiveHash
}

// ofFlows returns what nodes of flows need. It reads the flows only if it does not know one of them.
// after is the ID of the flow before them.
func (u *Finder) ofFlows(ctx context.Context, ws flow.WorkspaceID, after flow.FlowID, flows []flow.Flow) ([][]nodeUse, error) {
	found, missing := make([][]nodeUse, len(flows)), map[flow.FlowID]int{}
	for i := range flows {
		var ok bool
		if found[i], ok = u.known.Get(usesKey(&flows[i])); !ok {
			missing[flows[i].ID] = i
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	// A flow that was created or archived in between shifts the others: what is missing then is found by the next list.
	drafts, err := u.store.ListFlows(ctx, ws, after, len(flows))
	if err != nil {
		return nil, fmt.Errorf("list the flows of %s: %w", ws, err)
	}
	for i := range drafts {
		at, is := missing[drafts[i].ID]
		if !is {
			continue
		}
		err := visitDocuments(ctx, u.store, &drafts[i], func(_ *flow.Flow, d *flow.Document, live bool) {
			found[at] = append(found[at], u.ofDocument(d, live)...)
		})
		if err != nil {
			return nil, err
		}
		u.known.Add(usesKey(&drafts[i]), found[at]) // under what was read, which may be newer
	}
	return found, nil
}

// ofDocument returns what the nodes of a draft or a live version need.
func (u *Finder) ofDocument(d *flow.Document, live bool) (uses []nodeUse) {
	for i := range d.Nodes {
		n := &d.Nodes[i]
		use := nodeUse{node: n.ID, live: live, credentials: flow.CredentialsIn(n.Config)}
		if !flow.IsSecretRef(n.Config["credential"]) {
			use.provider = u.provider(n)
		}
		if use.provider != "" || len(use.credentials) > 0 {
			uses = append(uses, use)
		}
	}
	return uses
}

// EachDocument calls visit with the draft of every flow of a workspace, and with
// the document of its live version.
func EachDocument(ctx context.Context, store FlowReader, ws flow.WorkspaceID, visit func(f *flow.Flow, d *flow.Document, live bool)) error {
	for after := flow.FlowID(""); ; {
		flows, err := store.ListFlows(ctx, ws, after, usesPage)
		if err != nil {
			return fmt.Errorf("list the flows of %s: %w", ws, err)
		}
		for i := range flows {
			if err := visitDocuments(ctx, store, &flows[i], visit); err != nil {
				return err
			}
			after = flows[i].ID
		}
		if len(flows) < usesPage {
			return nil
		}
	}
}

// visitDocuments calls visit for the draft and the live version of a flow.
func visitDocuments(ctx context.Context, store FlowReader, f *flow.Flow, visit func(f *flow.Flow, d *flow.Document, live bool)) error {
	if d, _ := document.ParseDocument(f.Draft); d != nil {
		visit(f, d, false)
	}
	if f.LiveHash == "" {
		return nil
	}
	doc, err := store.FindDocument(ctx, f.WorkspaceID, f.LiveHash)
	// A version whose document is missing cannot run, so it sends nothing.
	if err != nil && !flow.IsNotFound(err) {
		return fmt.Errorf("find the live document of %s: %w", f.ID, err)
	}
	if d, _ := document.ParseDocument(doc); d != nil {
		visit(f, d, true)
	}
	return nil
}
