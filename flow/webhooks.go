package flow

import (
	"net/url"
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

// HostOf returns the host of a URL with its port, in lower case. Endpoints are told apart by it.
func HostOf(address string) string {
	u, err := url.Parse(WithSampleSecrets(address))
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}
