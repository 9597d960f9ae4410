package document

import (
	"slices"

	"sluice/flow"
)

// WebhookURL returns the URL that is typed in a webhook node, or "" if an edge or
// a template provides it and a caller may choose the receiver.
func WebhookURL(d *flow.Document, n *flow.Node) string {
	arrives := func(e flow.Edge) bool { return e.To == n.ID+"."+flow.WebhookURLField }
	if len(flow.TemplateNames(n.Config[flow.WebhookURLField])) > 0 || slices.ContainsFunc(d.Edges, arrives) {
		return ""
	}
	return flow.Text(n.Config[flow.WebhookURLField])
}

// WebhookHost returns the host of the URL typed in a webhook node, as in flow.WebhookOwner. It is
// "" if the URL is known only when the flow runs.
func WebhookHost(d *flow.Document, n *flow.Node) string { return flow.HostOf(WebhookURL(d, n)) }

// Webhook is a webhook node of the live version or of the draft of a flow.
type Webhook struct {
	*flow.Node
	URL  string // typed in the node; empty if it is known only when the flow runs
	Host string // see flow.WebhookOwner
	Live bool   // the live version sends it
}

// Credential returns the name of the credential that signs instead of the node's secret, or "".
func (w *Webhook) Credential() string {
	name, _ := flow.SecretRef(w.Config["secret"])
	return name
}

// Webhooks returns the webhook nodes of a flow: those of the live document, and those of the draft
// that are new or send to another host. Either document may be nil.
func Webhooks(live, draft *flow.Document) (list []Webhook) {
	for i, d := range []*flow.Document{live, draft} {
		if d == nil {
			continue
		}
		for j := range d.Nodes {
			n := &d.Nodes[j]
			host := WebhookHost(d, n)
			known := func(w Webhook) bool { return w.ID == n.ID && w.Host == host }
			if n.Kind == flow.WebhookNode && !slices.ContainsFunc(list, known) {
				list = append(list, Webhook{Node: n, URL: WebhookURL(d, n), Host: host, Live: i == 0})
			}
		}
	}
	return list
}
