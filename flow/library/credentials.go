package library

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
)

// Codes of problems with credentials, which CredentialProblems reports.
const (
	problemUnbound   = "credential_unbound"    // it has no hosts, and a caller may choose the host
	problemWrongHost = "credential_wrong_host" // its node sends it to a host that is not allowed
)

// CheckDraft is Check for the draft of a flow, including CredentialProblems.
func (l *Library) CheckDraft(ctx context.Context, f *flow.Flow) (*flow.Document, error) {
	d, problems := document.ParseDocument(f.Draft)
	if d != nil {
		problems = flow.MergeProblems(problems, document.Validate(d, l.Kinds))
		more, err := l.CredentialProblems(ctx, f.WorkspaceID, d)
		if err != nil {
			return nil, err
		}
		problems = flow.MergeProblems(problems, more)
		if more, err = leakProblems(ctx, l, f.WorkspaceID, d); err != nil {
			return nil, err
		}
		problems = flow.MergeProblems(problems, more)
		if more, err = l.CallProblems(ctx, f, d); err != nil {
			return nil, err
		}
		problems = flow.MergeProblems(problems, more)
	}
	if err := documentInvalid(problems); err != nil {
		return nil, err
	}
	return d, nil
}

// MakeLive makes an older version of a flow live again, unless problems with its credentials or the
// flows that it runs prevent that. It is idempotent.
func (l *Library) MakeLive(ctx context.Context, by flow.Actor, f *flow.Flow, n int64) error {
	if f.LiveVersion == n {
		return nil
	}
	d, err := l.Document(ctx, f.WorkspaceID, f.ID, n)
	if err != nil {
		return err
	}
	problems, err := l.CredentialProblems(ctx, f.WorkspaceID, d)
	if err != nil {
		return err
	}
	cycles, err := l.CallProblems(ctx, f, d)
	if err != nil {
		return err
	}
	if err := documentInvalid(flow.MergeProblems(problems, cycles)); err != nil {
		return err
	}
	what := fmt.Sprintf("v%d", n)
	if f.LiveVersion != 0 {
		what += fmt.Sprintf(" in place of v%d", f.LiveVersion)
	}
	return record(ctx, l.Store, by, entry(f.WorkspaceID, "flow.live", string(f.ID), what), func(ctx context.Context) error {
		return l.Store.SetLiveVersion(ctx, f.WorkspaceID, f.ID, n, by.ID)
	})
}

// documentInvalid returns the error for the problems of a document, or nil if there are no problems.
func documentInvalid(problems []flow.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return &flow.Error{Code: flow.CodeDocumentInvalid, Message: fmt.Sprintf("The flow document has %s:", flow.Count(len(problems), "problem")), Fields: problems}
}

// CredentialProblems returns the problems of credentials that a published flow must not use: those
// without hosts if a caller may choose the host, and those whose hosts exclude the host of the
// node. It ignores credentials that do not exist.
func (l *Library) CredentialProblems(ctx context.Context, ws flow.WorkspaceID, d *flow.Document) ([]flow.Problem, error) {
	known := map[string]*flow.Credential{}
	var list []flow.Problem
	for i := range d.Nodes {
		n := &d.Nodes[i]
		k := l.Kinds.For(n)
		if k == nil || k.Sends == nil || n.Disabled {
			continue
		}
		for _, use := range document.SentCredentials(n, k) {
			c, err := findCredential(ctx, l.Store, ws, use.Credential, known)
			if err != nil {
				return nil, err
			}
			if c == nil {
				continue
			}
			if p := l.credentialProblem(d, n, document.FieldDestination(k, k.Field(use.Field)), c); p != nil {
				p.Pointer, p.Node = flow.Pointer("nodes", i, "config", use.Field), n.ID
				list = flow.MergeProblems(list, []flow.Problem{*p})
			}
		}
	}
	return list, nil
}

// findCredential finds a credential and caches it. It returns nil if it does not exist.
func findCredential(ctx context.Context, store LibraryStore, ws flow.WorkspaceID, name string, known map[string]*flow.Credential) (*flow.Credential, error) {
	if c, ok := known[name]; ok {
		return c, nil
	}
	c, err := store.FindCredential(ctx, ws, name)
	switch {
	case flow.IsNotFound(err):
		known[name] = nil
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("find credential %q: %w", name, err)
	}
	known[name] = &c
	return &c, nil
}

// credentialProblem checks that a credential may be sent where a node sends it. It returns nil
// if it may.
func (l *Library) credentialProblem(d *flow.Document, n *flow.Node, to *flow.Destination, c *flow.Credential) *flow.Problem {
	hosts, open := document.FindDestination(d, n, to)
	switch {
	case c.Unbound() && open:
		return &flow.Problem{Code: problemUnbound, Detail: fmt.Sprintf("the host of this node comes from an edge or a template, and the credential %q may be sent to any host, "+
			"so anyone who starts a run could have it sent to themselves; enter its hosts under Credentials, or type the host here", c.Name)}
	case c.Unbound() && l.RefuseUnbound:
		return &flow.Problem{Code: problemUnbound, Detail: fmt.Sprintf("the credential %q has no hosts, and this server does not send such credentials (SLUICE_UNBOUND_CREDENTIALS); enter its hosts under Credentials, such as %s",
			c.Name, strings.Join(hosts, ", "))}
	case len(c.Hosts) > 0 && !open && !coversOne(c.Hosts, hosts):
		return &flow.Problem{Code: problemWrongHost, Detail: fmt.Sprintf("the credential %q may only be sent to %s, and this node sends it to %s; add the host under Credentials, or choose another credential",
			c.Name, strings.Join(c.Hosts, ", "), strings.Join(hosts, ", "))}
	}
	return nil
}

// coversOne reports whether a credential may be sent to one of the hosts. A host without a port
// stands for the ports 443 and 80.
func coversOne(patterns, hosts []string) bool {
	for _, host := range hosts {
		name, port, err := flow.SplitHost(host)
		if err == nil && (flow.HostAllowed(patterns, flow.JoinHost(name, port)) || port == "" && (flow.HostAllowed(patterns, flow.JoinHost(name, "443")) || flow.HostAllowed(patterns, flow.JoinHost(name, "80")))) {
			return true
		}
	}
	return false
}

// extractDraftSecrets moves literal secrets out of a draft from before the current rule,
// and returns the changed flow.
func (l *Library) extractDraftSecrets(ctx context.Context, f *flow.Flow, by string) (*flow.Flow, error) {
	d, _ := document.ParseDocument(f.Draft)
	if d == nil || !document.HasLiteralSecrets(d, l.Kinds) {
		return f, nil
	}
	ops := document.ExtractionEdits(d, l.Kinds)
	if _, err := l.EditFlow(ctx, f.WorkspaceID, f.ID, by, document.EditRequest{Base: f.Rev, Tab: "publish", TxID: rand.Text(), Ops: ops}); err != nil {
		return nil, err
	}
	return l.Store.FindFlow(ctx, f.WorkspaceID, f.ID)
}
