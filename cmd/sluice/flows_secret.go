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
	"sluice/handlers/admin"
)

// flowSecretCmd prints or rotates the secret that signs the messages of a webhook node.
// During the overlap each message has one signature by the old and one by the new secret,
// so receivers can switch at any time.
type flowSecretCmd struct {
	ID      string        `arg:"" help:"ID or slug of the flow."`
	Node    string        `help:"ID of the webhook node. Needed if the webhooks of the flow have different secrets." placeholder:"NODE"`
	Rotate  bool          `help:"Create a new secret and print it."`
	Overlap time.Duration `help:"With --rotate: how long messages are also signed with the old secret, up to 168h; 0 ends it immediately." default:"24h" placeholder:"24h"`
}

// errNoWebhook is returned for a flow without webhook nodes.
var errNoWebhook = errors.New("the flow has no webhook node; for webhooks in run_options.webhook use 'sluice key secret'")

// RunAPI prints or rotates the whsec_ secret with which receivers verify messages of a webhook node.
// The secret is created before the first message. Rotating a shared secret
// gives the node a secret of its own.
func (c flowSecretCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	path := "/v1/flow/" + url.PathEscape(c.ID) + "/webhooks"
	list, err := fetch[struct {
		Webhooks []remoteWebhook `json:"webhooks"`
	}](ctx, api, "GET", path, nil)
	if err != nil {
		return notFound(err, noFlow)
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
