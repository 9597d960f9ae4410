package flow

import (
	"net/url"
	"slices"
	"strings"
)

// WebhookURLField is the field of a webhook node that says where to send.
const WebhookURLField = "url"

// WebhookNode is the kind of the nodes that send webhooks.
const WebhookNode = "webhook"

// WebhookSecret holds the signing secrets of one webhook node.
type WebhookSecret struct {
	ID string
	// Inherits is set if the node has no secret of its own and uses the flow's,
	// as in older versions. Replacing the secret ends that.
	Inherits bool
	// Secrets sign every message, the current one first. It is empty in lists
	// that do not reveal secrets.
	Secrets []SigningSecret
}

// WebhookOwner identifies the owner of a signing secret: a webhook node and the
// host of its URL. Host is empty if the URL comes by an edge or a template, and
// both are empty for webhooks of runs that no key started.
type WebhookOwner struct {
	WorkspaceID        WorkspaceID
	FlowID, Node, Host string
}

// FixedURL returns the URL that is typed in a webhook node, or "" if an edge or
// a template provides it and a caller may choose the receiver.
func (d *Document) FixedURL(n *Node) string {
	arrives := func(e Edge) bool { return e.To == n.ID+"."+WebhookURLField }
	if len(TemplateNames(n.Config[WebhookURLField])) > 0 || slices.ContainsFunc(d.Edges, arrives) {
		return ""
	}
	return Text(n.Config[WebhookURLField])
}

// WebhookHost returns the host that a webhook node sends to, as in
// WebhookOwner.
func (d *Document) WebhookHost(n *Node) string { return HostOf(d.FixedURL(n)) }

// FlowWebhook is a webhook node of a flow.
type FlowWebhook struct {
	*Node
	URL  string // typed in the node; empty if the run provides it
	Host string // as of WebhookOwner
	Live bool   // the live version sends it
}

// Credential returns the name of the credential that signs instead of the node's
// own secret, or "".
func (w *FlowWebhook) Credential() string {
	name, _ := SecretRef(w.Config["secret"])
	return name
}

// Webhooks returns the webhook nodes of a flow: those of the live document, and
// those of the draft that it does not have or that send to another host. Either
// document may be nil.
func Webhooks(live, draft *Document) (list []FlowWebhook) {
	for i, d := range []*Document{live, draft} {
		if d == nil {
			continue
		}
		for j := range d.Nodes {
			n := &d.Nodes[j]
			host := d.WebhookHost(n)
			known := func(w FlowWebhook) bool { return w.ID == n.ID && w.Host == host }
			if n.Kind == WebhookNode && !slices.ContainsFunc(list, known) {
				list = append(list, FlowWebhook{Node: n, URL: d.FixedURL(n), Host: host, Live: i == 0})
			}
		}
	}
	return list
}

// HostOf returns the host of a URL with its port, in lower case. Endpoints are told apart by it.
func HostOf(address string) string {
	u, err := url.Parse(WithSampleSecrets(address))
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}
