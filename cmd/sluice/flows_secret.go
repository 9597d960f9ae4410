package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/cmd/sluice/client"
	"sluice/db"
	"sluice/flow"
	"sluice/flow/document"
	"sluice/handlers/admin"
)

// flowSecretCmd prints or rotates the secret that signs the messages of a webhook node.
// During the overlap each message has one signature by the old and one by the new secret,
// so receivers can switch at any time.
type flowSecretCmd struct {
	ID      string        `arg:"" help:"ID of the flow; on a server also its slug."`
	Node    string        `help:"ID of the webhook node. Needed if the webhooks of the flow have different secrets." placeholder:"NODE"`
	Rotate  bool          `help:"Create a new secret and print it."`
	Overlap time.Duration `help:"With --rotate: how long messages are also signed with the old secret, up to 168h; 0 ends it immediately." default:"24h" placeholder:"24h"`
}

// errNoWebhook is returned for a flow without webhook nodes.
var errNoWebhook = errors.New("the flow has no webhook node; for webhooks in run_options.webhook use 'sluice key secret'")

// RunOn prints the whsec_ secret with which receivers verify messages of a webhook node. The
// secret is created before the first message.
func (c flowSecretCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	f, err := store.FindFlow(ctx, cfg.workspace(), flow.FlowID(c.ID))
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
	fmt.Fprintln(s.Out, secret)
	action, detail := "flow.secret.read", ""
	if c.Rotate {
		action, detail = "flow.secret.rotate", "overlap "+c.Overlap.String()
	}
	if c.Rotate && c.Overlap > 0 {
		fmt.Fprintf(s.Err, "The old secret keeps signing too for %s.\n", c.Overlap)
	}
	return store.Audit(ctx, cfg.workspace(), "cli", action, c.ID, strings.TrimSpace(owner.Node+" "+owner.Host+" "+detail))
}

// RunAPI prints or rotates the secret of a webhook node over HTTP. Rotating a shared secret
// gives the node a secret of its own.
func (c flowSecretCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	path := "/v1/flow/" + url.PathEscape(c.ID) + "/webhooks"
	list, err := fetch[struct {
		Webhooks []remoteWebhook `json:"webhooks"`
	}](ctx, api, "GET", path, nil)
	if err != nil {
		return notFound(err, "there is no such flow; 'sluice flow list' lists the flows")
	}
	w, err := c.selectWebhook(list.Webhooks)
	if err != nil {
		return err
	}
	if !c.Rotate {
		_, err = fmt.Fprintln(s.Out, w.Secret)
		return err
	}
	made, err := fetch[admin.RotatedSecret](ctx, api, "POST", path+"/"+url.PathEscape(w.Node)+"/rotate", map[string]any{"overlap_s": int64(c.Overlap / time.Second)})
	if err != nil {
		return err
	}
	fmt.Fprintln(s.Out, made.Secret)
	if c.Overlap > 0 {
		fmt.Fprintf(s.Err, "The old secret keeps signing too for %s.\n", c.Overlap)
	}
	return nil
}

// remoteWebhook has the fields of a webhook node that the command uses.
type remoteWebhook struct {
	Node   string `json:"node"`
	Secret string `json:"secret"` // "" if a credential signs the messages
}

// selectWebhook returns the webhook of --node, or the only one. Without --node, several nodes
// are a usage error, except for reading a secret that all of them share. Webhooks that are
// signed with a credential are ignored.
func (c flowSecretCmd) selectWebhook(list []remoteWebhook) (w remoteWebhook, err error) {
	list = slices.DeleteFunc(list, func(w remoteWebhook) bool { return w.Secret == "" })
	if len(list) == 0 {
		return w, errNoWebhook
	}
	var names []string
	found := -1
	for i := range list {
		names = append(names, list[i].Node)
		if found < 0 && (c.Node == "" || c.Node == list[i].Node) {
			found = i
		}
	}
	names = slices.Compact(names)
	same := !slices.ContainsFunc(list, func(w remoteWebhook) bool { return w.Secret != list[0].Secret })
	switch {
	case found < 0:
		return w, fmt.Errorf("there is no webhook node %s with a secret of its own; choose one of: %s", c.Node, strings.Join(names, ", "))
	case c.Node == "" && len(names) > 1 && (c.Rotate || !same):
		return w, usageError("the flow has several webhooks; choose one with --node:  " + strings.Join(names, ", "))
	}
	return list[found], nil
}

// secret reads or rotates the secret of an owner. An owner without a node is the flow.
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

// owner returns the owner of the requested secret: the node of --node, or the only one. It
// is the flow if all nodes still use the flow's secret, which they did before nodes had
// secrets of their own.
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
