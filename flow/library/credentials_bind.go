package library

import (
	"context"
	"fmt"
	"slices"

	"sluice/flow"
	"sluice/flow/credentialuse"
	"sluice/flow/document"
)

// BindStore is the part of the store that BindCredentials needs.
type BindStore interface {
	credentialuse.DocumentStore
	ListUndecidedCredentials(ctx context.Context) ([]flow.Credential, error)
	BindCredential(ctx context.Context, ws flow.WorkspaceID, name string, hosts []string) error
}

// BindCredentials sets the hosts of credentials that are older than the requirement of hosts. A
// plain credential is bound to the hosts that the drafts and live versions of its workspace send
// it to, if all of them fix the host. Otherwise it stays without hosts, so that flows keep
// working, and is returned: it can be sent anywhere until its hosts are entered.
//
// It skips credentials with hosts, so it may run at every start and on several instances at once.
func BindCredentials(ctx context.Context, store BindStore, kinds *flow.Registry) (unbound []flow.Credential, err error) {
	list, err := store.ListUndecidedCredentials(ctx)
	if err != nil {
		return nil, err
	}
	uses := map[flow.WorkspaceID]*destinations{} // by workspace
	for i := range list {
		c := &list[i]
		hosts := c.Hosts
		if c.Unbound() {
			if uses[c.WorkspaceID] == nil {
				if uses[c.WorkspaceID], err = findDestinations(ctx, store, c.WorkspaceID, kinds); err != nil {
					return nil, err
				}
			}
			hosts = uses[c.WorkspaceID].fixed(c.Name)
		}
		if err := store.BindCredential(ctx, c.WorkspaceID, c.Name, hosts); err != nil {
			return nil, fmt.Errorf("bind credential %q: %w", c.Name, err)
		}
		if c.Unbound() && len(hosts) == 0 {
			unbound = append(unbound, *c)
		}
	}
	return unbound, nil
}

// ProposeHosts returns the fixed hosts that the flows of a workspace send its
// credentials to, by credential.
func ProposeHosts(ctx context.Context, store credentialuse.DocumentStore, ws flow.WorkspaceID, kinds *flow.Registry) (map[string][]string, error) {
	d, err := findDestinations(ctx, store, ws, kinds)
	if err != nil {
		return nil, err
	}
	return d.hosts, nil
}

// destinations records where the flows of a workspace send its credentials.
type destinations struct {
	hosts map[string][]string // by credential, without duplicates
	open  map[string]bool     // a node leaves the host to its runs
}

// findDestinations reads all documents of a workspace and collects where they send each
// credential.
func findDestinations(ctx context.Context, store credentialuse.DocumentStore, ws flow.WorkspaceID, kinds *flow.Registry) (*destinations, error) {
	d := &destinations{hosts: map[string][]string{}, open: map[string]bool{}}
	err := credentialuse.EachDocument(ctx, store, ws, func(_ *flow.Flow, doc *flow.Document, _ bool) { d.add(doc, kinds) })
	return d, err
}

// add collects the destinations of the credentials in one document.
func (d *destinations) add(doc *flow.Document, kinds *flow.Registry) {
	for i := range doc.Nodes {
		n := &doc.Nodes[i]
		k := kinds.For(n)
		if k == nil || k.Sends == nil {
			continue
		}
		for j := range k.Fields {
			d.addField(doc, n, k, &k.Fields[j])
		}
	}
}

// addField collects the destinations of the credentials in one field of a node.
func (d *destinations) addField(doc *flow.Document, n *flow.Node, k *flow.Kind, f *flow.Field) {
	names := flow.CredentialsIn(n.Config[f.Name])
	if len(names) == 0 {
		return
	}
	hosts, open := document.FindDestination(doc, n, document.FieldDestination(k, f))
	for _, name := range names {
		for _, host := range hosts {
			if !slices.Contains(d.hosts[name], host) {
				d.hosts[name] = append(d.hosts[name], host)
			}
		}
		if open && !f.Signs {
			d.open[name] = true
		}
	}
}

// fixed returns the hosts of a credential if no node leaves them open.
func (d *destinations) fixed(credential string) []string {
	if d.open[credential] {
		return nil
	}
	return d.hosts[credential]
}

// LiteralSecrets returns the names of flows whose draft or live version contains secrets in clear
// text, because they are older than secret detection.
func LiteralSecrets(ctx context.Context, store credentialuse.DocumentStore, ws flow.WorkspaceID, kinds *flow.Registry) (flows []string, err error) {
	err = credentialuse.EachDocument(ctx, store, ws, func(f *flow.Flow, d *flow.Document, _ bool) {
		if !slices.Contains(flows, f.Name) && document.HasLiteralSecrets(d, kinds) {
			flows = append(flows, f.Name)
		}
	})
	return flows, err
}

// CheckAnyHost returns an error if a live version sends the credential to a host that its runs
// choose. Without hosts, anyone who can start such a run could have the secret sent to
// themselves. Publishing makes the same check, but credentials and hosts may change later.
func CheckAnyHost(ctx context.Context, store credentialuse.FlowReader, ws flow.WorkspaceID, credential string, kinds *flow.Registry) error {
	var name string
	err := credentialuse.EachDocument(ctx, store, ws, func(f *flow.Flow, d *flow.Document, live bool) {
		if !live || name != "" {
			return
		}
		to := &destinations{hosts: map[string][]string{}, open: map[string]bool{}}
		if to.add(d, kinds); to.open[credential] {
			name = f.Name
		}
	})
	if err == nil && name != "" {
		return flow.Errorf(flow.CodeInputInvalid, "The published flow %q sends this credential to a host that comes from an edge or a template, so anyone who starts a run could have it sent to themselves. Enter the hosts that it may be sent to.", name)
	}
	return err
}
