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
)

type flowSecretCmd struct {
	ID      string        `arg:"" help:"ID of the flow."`
	Node    string        `help:"ID of the webhook node. Needed where the flow has several with different secrets." placeholder:"NODE"`
	Rotate  bool          `help:"Make a new secret and print that."`
	Overlap time.Duration `help:"With --rotate: for how long the old one signs too, up to 168h; 0 ends it at once." default:"24h" placeholder:"24h"`
}

// errNoWebhook tells what signs the other webhooks of a flow.
var errNoWebhook = errors.New("the flow has no webhook node; webhooks that a run asks for are signed with the secret of its key, see 'sluice key secret'")

// Run prints the whsec_ secret that receivers of a webhook node verify with. It
// is there before the first message.
func (c flowSecretCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	store, _, err := openLibrary(ctx, cfg, s)
	if err != nil {
		return err
	}
	defer store.Close()
	f, err := store.FindFlow(ctx, flow.DefaultWorkspace, c.ID)
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
		fmt.Fprintf(s.err, "The old secret signs too for %s.\n", c.Overlap)
	}
	return store.Audit(ctx, flow.DefaultWorkspace, "cli", action, c.ID, strings.TrimSpace(owner.Node+" "+owner.Host+" "+detail))
}

// secret reads or replaces a secret; without a node it is that of the flow.
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

// owner finds whose secret is meant: the node that is named, or the only one.
// Where all nodes still use the secret of the flow, it is the flow.
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
		return o, fmt.Errorf("no webhook node %s signs with a secret of its own; those that do: %s", c.Node, strings.Join(names, ", "))
	case c.Node == "" && len(names) > 1:
		return o, usageError("the flow has several webhooks, say with --node which one: " + strings.Join(names, ", "))
	}
	return found[0], nil // of a node that the draft sends elsewhere, the live one
}

// signedWebhooks are the webhook nodes of a flow that no credential signs for.
func signedWebhooks(ctx context.Context, store *db.Store, f *flow.Flow) ([]flow.FlowWebhook, error) {
	var live *flow.Document
	if f.LiveHash != "" {
		data, err := store.FindDocument(ctx, f.WorkspaceID, f.LiveHash)
		if err != nil {
			return nil, err
		}
		live, _ = flow.ParseDocument(data)
	}
	draft, _ := flow.ParseDocument(f.Draft)
	return slices.DeleteFunc(flow.Webhooks(live, draft), func(w flow.FlowWebhook) bool { return w.Credential() != "" }), nil
}
