package flow

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
)

// Codes of problems with credentials, which CredentialProblems reports.
const (
	problemUnbound   = "credential_unbound"    // it may be sent anywhere, and a caller may choose where
	problemWrongHost = "credential_wrong_host" // it may not be sent where its node sends it
)

// CheckDraft is Check for the draft of a flow, including CredentialProblems.
func (l *Library) CheckDraft(ctx context.Context, f *Flow) (*Document, error) {
	d, problems := ParseDocument(f.Draft)
	if d != nil {
		problems = union(problems, Validate(d, l.Kinds))
		more, err := l.CredentialProblems(ctx, f.WorkspaceID, d)
		if err != nil {
			return nil, err
		}
		problems = union(problems, more)
	}
	if err := documentInvalid(problems); err != nil {
		return nil, err
	}
	return d, nil
}

// SetLiveVersion makes an older version live again, unless its credentials no
// longer allow it to be published.
func (l *Library) SetLiveVersion(ctx context.Context, ws, flowID string, n int64, by string) error {
	d, err := l.Document(ctx, ws, flowID, n)
	if err != nil {
		return err
	}
	problems, err := l.CredentialProblems(ctx, ws, d)
	if err != nil {
		return err
	}
	if err := documentInvalid(problems); err != nil {
		return err
	}
	return l.Store.SetLiveVersion(ctx, ws, flowID, n, by)
}

func documentInvalid(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return &Error{Code: CodeDocumentInvalid, Message: fmt.Sprintf("The flow document has %s:", count(len(problems), "problem")), Fields: problems}
}

// CredentialProblems finds credentials that a published flow may not use: one
// without hosts whose node sends it where a caller chooses, and one that may
// not be sent where its node sends it. Credentials that do not exist are not
// reported.
func (l *Library) CredentialProblems(ctx context.Context, ws string, d *Document) ([]Problem, error) {
	known := map[string]*Credential{}
	var list []Problem
	for i := range d.Nodes {
		n := &d.Nodes[i]
		k := l.Kinds.For(n)
		if k == nil || k.Sends == nil || n.Disabled {
			continue
		}
		for _, use := range n.sends(k) {
			c, err := l.credential(ctx, ws, use.credential, known)
			if err != nil {
				return nil, err
			}
			if c == nil {
				continue
			}
			if p := l.credentialProblem(d, n, k.destinationOf(k.Field(use.field)), c); p != nil {
				p.Pointer, p.Node = Pointer("nodes", i, "config", use.field), n.ID
				list = union(list, []Problem{*p})
			}
		}
	}
	return list, nil
}

// credential finds a credential and caches it; nil if there is none.
func (l *Library) credential(ctx context.Context, ws, name string, known map[string]*Credential) (*Credential, error) {
	if c, ok := known[name]; ok {
		return c, nil
	}
	c, err := l.Store.FindCredential(ctx, ws, name)
	switch {
	case errors.Is(err, &Error{Code: CodeNotFound}):
		known[name] = nil
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("find credential %q: %w", name, err)
	}
	known[name] = &c
	return &c, nil
}

func (l *Library) credentialProblem(d *Document, n *Node, to *Destination, c *Credential) *Problem {
	hosts, open := d.destination(n, to)
	switch {
	case c.Unbound() && open:
		return &Problem{Code: problemUnbound, Detail: fmt.Sprintf("the host of this node comes from an edge or a template, and the credential %q may be sent to any host, "+
			"so anyone who starts a run could have it sent to themselves; enter its hosts under Credentials, or type the host here", c.Name)}
	case c.Unbound() && l.RefuseUnbound:
		return &Problem{Code: problemUnbound, Detail: fmt.Sprintf("the credential %q has no hosts, and this server does not send such credentials (SLUICE_UNBOUND_CREDENTIALS); enter its hosts under Credentials, such as %s",
			c.Name, strings.Join(hosts, ", "))}
	case len(c.Hosts) > 0 && !open && !coversOne(c.Hosts, hosts):
		return &Problem{Code: problemWrongHost, Detail: fmt.Sprintf("the credential %q may only be sent to %s, and this node sends it to %s; add the host under Credentials, or choose another credential",
			c.Name, strings.Join(c.Hosts, ", "), strings.Join(hosts, ", "))}
	}
	return nil
}

// coversOne reports whether a credential may be sent to one of the hosts. A host
// without a port is reached on the usual ones.
func coversOne(patterns, hosts []string) bool {
	for _, host := range hosts {
		name, port, err := splitHost(host)
		if err == nil && (hostAllowed(patterns, joinHost(name, port)) || port == "" && (hostAllowed(patterns, joinHost(name, "443")) || hostAllowed(patterns, joinHost(name, "80")))) {
			return true
		}
	}
	return false
}

// Destination returns the hosts that a node sends its credentials to, if its
// config fixes them.
func (d *Document) Destination(n *Node, k *Kind) []string {
	if k.Sends == nil {
		return nil
	}
	hosts, _ := d.destination(n, k.Sends)
	return hosts
}

// destination returns where a node sends its credentials. It is open if an
// edge, a template or an empty field leaves the host to the run.
func (d *Document) destination(n *Node, to *Destination) (hosts []string, open bool) {
	if to.Field != "" && d.isFed(n.ID, to.Field) {
		return nil, true
	}
	hosts = to.Hosts(n)
	return hosts, len(hosts) == 0
}

// destinationOf is where the credentials in a field are sent. Those in a URL go
// to the host of that URL, such as that of a picture for a model.
func (k *Kind) destinationOf(f *Field) *Destination {
	if f.Secrets == SecretsInURL {
		return &Destination{Field: f.Name, Hosts: URLHost(f.Name)}
	}
	return k.Sends
}

// sentCredential is a credential that a config field of a node sends.
type sentCredential struct{ field, credential string }

// sends lists the credentials that a node sends. Those that only sign are left
// out.
func (n *Node) sends(k *Kind) (list []sentCredential) {
	for i := range k.Fields {
		f := &k.Fields[i]
		if f.Signs {
			continue
		}
		for _, name := range credentialsIn(n.Config[f.Name]) {
			list = append(list, sentCredential{f.Name, name})
		}
	}
	return list
}

// URLHost returns the Hosts function of a kind that calls the URL in a field.
func URLHost(field string) func(n *Node) []string {
	return func(n *Node) []string {
		switch v := n.Config[field].(type) {
		case string:
			if host := fixedHost(v); host != "" {
				return []string{host}
			}
		case []any: // those of the URLs that hold credentials
			var hosts []string
			for _, item := range v {
				s, _ := item.(string)
				if len(textCredentials(s)) == 0 {
					continue
				}
				host := fixedHost(s)
				if host == "" {
					return nil
				}
				hosts = append(hosts, host)
			}
			return hosts
		}
		return nil
	}
}

// fixedHost returns the host of a URL that may be a template; "" if the template
// makes the host.
func fixedHost(address string) string {
	_, rest, found := strings.Cut(strings.TrimSpace(address), "://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	host, err := ParseHost(rest)
	if !found || err != nil || strings.HasPrefix(host, "*") {
		return ""
	}
	return host
}

// liftDraft moves literal secrets out of a draft from before the current rule,
// and returns the changed flow.
func (l *Library) liftDraft(ctx context.Context, f *Flow, by string) (*Flow, error) {
	d, _ := ParseDocument(f.Draft)
	if d == nil || !d.HasLiteralSecrets(l.Kinds) {
		return f, nil
	}
	ops := d.rewriteLiteralSecrets(l.Kinds)
	if _, err := l.EditFlow(ctx, f.WorkspaceID, f.ID, by, EditRequest{Base: f.Rev, Tab: "publish", TxID: rand.Text(), Ops: ops}); err != nil {
		return nil, err
	}
	return l.Store.FindFlow(ctx, f.WorkspaceID, f.ID)
}
