package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/db"
	"sluice/flow"
	"sluice/flow/document"
)

// flowSecretCmd prints or rotates the secret that signs the messages of a webhook
// node. While both secrets are valid, each message has a signature for either, so
// receivers can switch at any time.
type flowSecretCmd struct {
	ID      string        `arg:"" help:"ID of the flow."`
	Node    string        `help:"ID of the webhook node. Needed if the webhooks of the flow have different secrets." placeholder:"NODE"`
	Rotate  bool          `help:"Create a new secret and print it."`
	Overlap time.Duration `help:"With --rotate: how long messages are also signed with the old secret, up to 168h; 0 ends it immediately." default:"24h" placeholder:"24h"`
}

// errNoWebhook is returned for a flow without webhook nodes.
var errNoWebhook = errors.New("the flow has no webhook node; for webhooks in run_options.webhook use 'sluice key secret'")

// Run prints the whsec_ secret that receivers of a webhook node verify with.
// The secret exists before the first message.
func (c flowSecretCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	f, err := store.FindFlow(ctx, cfg.workspace(), c.ID)
	if err != nil {
		return notFound(err, "there is no such flow; 'sluice flow list' lists the flows")
	}
	owner, err := c.owner(ctx, store, f)
	if err != nil {
		return err
	}
	secret, err := c.secret(ctx, store, owner)
	if err != nil {
		return err
	}
	fmt.Fprintln(s.out, secret)
	action, detail := "flow.secret.read", ""
	if c.Rotate {
		action, detail = "flow.secret.rotate", "overlap "+c.Overlap.String()
	}
	if c.Rotate && c.Overlap > 0 {
		fmt.Fprintf(s.err, "The old secret keeps signing too for %s.\n", c.Overlap)
	}
	return store.Audit(ctx, cfg.workspace(), "cli", action, c.ID, strings.TrimSpace(owner.Node+" "+owner.Host+" "+detail))
}

// secret reads or replaces the secret of an owner; without a node it is the
// flow's.
func (c flowSecretCmd) secret(ctx context.Context, store *db.Store, o flow.WebhookOwner) (string, error) {
	switch {
	case c.Rotate && o.Node == "":
		return store.RotateSigning(ctx, o.WorkspaceID, o.FlowID, c.Overlap)
	case c.Rotate:
		return store.RotateWebhookSecret(ctx, o, c.Overlap)
	case o.Node == "":
		return store.SigningSecret(ctx, o.WorkspaceID, o.FlowID)
	}
	secret, err := store.WebhookSecret(ctx, o)
	if err != nil {
		return "", err
	}
	return secret.Secrets[0].Secret, nil
}

// owner returns the owner of the requested secret: the given node, or the only
// one. It is the flow if all nodes still use the flow's secret, as those from before nodes
// had secrets of their own do.
func (c flowSecretCmd) owner(ctx context.Context, store *db.Store, f *flow.Flow) (o flow.WebhookOwner, err error) {
	list, err := signedWebhooks(ctx, store, f)
	if err != nil {
		return o, err
	}
	shared := c.Node == "" && len(list) > 0
	var found []flow.WebhookOwner
	var names []string
	for _, w := range list {
		o := flow.WebhookOwner{WorkspaceID: f.WorkspaceID, FlowID: f.ID, Node: w.ID, Host: w.Host}
		secret, err := store.PeekWebhookSecret(ctx, o)
		if err != nil {
			return o, err
		}
		shared = shared && secret.Inherits
		names = append(names, w.ID)
		if c.Node == "" || c.Node == w.ID {
			found = append(found, o)
		}
	}
	names = slices.Compact(names)
	switch {
	case shared:
		return flow.WebhookOwner{WorkspaceID: f.WorkspaceID, FlowID: f.ID}, nil
	case len(list) == 0:
		return o, errNoWebhook
	case len(found) == 0:
		return o, fmt.Errorf("there is no webhook node %s with a secret of its own; choose one of: %s", c.Node, strings.Join(names, ", "))
	case c.Node == "" && len(names) > 1:
		return o, usageError("the flow has several webhooks; choose one with --node:  " + strings.Join(names, ", "))
	}
	return found[0], nil // the live one, if the draft sends to another host
}

// signedWebhooks returns the webhook nodes of a flow that are not signed with a
// credential.
func signedWebhooks(ctx context.Context, store *db.Store, f *flow.Flow) ([]document.Webhook, error) {
	var live *flow.Document
	if f.LiveHash != "" {
		data, err := store.FindDocument(ctx, f.WorkspaceID, f.LiveHash)
		if err != nil {
			return nil, err
		}
		live, _ = document.ParseDocument(data)
	}
	draft, _ := document.ParseDocument(f.Draft)
	return slices.DeleteFunc(document.Webhooks(live, draft), func(w document.Webhook) bool { return w.Credential() != "" }), nil
}
