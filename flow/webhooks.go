package flow

import (
	"net/url"
	"strings"
)

// WebhookURLField is the field of a webhook node with the URL of the receiver.
const WebhookURLField = "url"

// WebhookNode is the name of the kind that sends webhooks.
const WebhookNode = "webhook"

// WebhookSecret holds the signing secrets of one webhook node.
type WebhookSecret struct {
	ID string
	// Inherits means that the node uses the secret of the flow, as in older versions, until its
	// secret is replaced.
	Inherits bool
	// Secrets sign every message, the current one first. It is empty in lists
	// that do not reveal secrets.
	Secrets []SigningSecret
}

// WebhookOwner identifies the owner of a signing secret: a webhook node and the host of its URL.
// Host is empty if the URL comes from an edge or a template. Node and Host are empty for
// per-run webhooks of runs that no key started.
type WebhookOwner struct {
	WorkspaceID WorkspaceID
	FlowID      FlowID
	Node, Host  string
}

// HostOf returns the host of a URL with its port, in lower case. It identifies endpoints.
func HostOf(address string) string {
	u, err := url.Parse(WithSampleSecrets(address))
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}
