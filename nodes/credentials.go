package nodes

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/flow/wording"
	"sluice/outbound"
	"sluice/providers"
)

// credentialFiller replaces references by secrets, all for one host. A value
// that arrived by an edge is data: it may contain the text of a secret, but no
// reference to one.
type credentialFiller struct {
	in      *flow.In
	host    string // with its port, as flow.HostPort returns it
	secrets map[string]string
	redact  func(secret string) // called with every secret
	used    bool                // since it was last reset
}

// secret returns the value of a credential, opened for the filler's host. Each
// credential is opened once per step.
func (c *credentialFiller) secret(ctx context.Context, name string) (string, error) {
	c.used = true
	if secret, known := c.secrets[name]; known {
		return secret, nil
	}
	secret, err := c.in.Secret(ctx, flow.SecretRefTo(name), c.host)
	if err != nil {
		return "", err
	}
	if c.secrets == nil {
		c.secrets = map[string]string{}
	}
	c.secrets[name] = secret
	c.redact(secret)
	return secret, nil
}

// text replaces the references in a text, each encoded for its position.
func (c *credentialFiller) text(ctx context.Context, s flow.SecretText) (string, error) {
	for _, name := range s.Credentials() {
		if _, err := c.secret(ctx, name); err != nil {
			return "", err
		}
	}
	return s.Fill(c.secrets)
}

// origin is the source of a value. It determines how the value may reference secrets.
type origin int

const (
	typedMap      origin = iota // typed, not a template: references in its texts are resolved
	typedTemplate               // typed, a template: references are a flow.SecretText; other texts may be data
	byEdge                      // data from an edge: references are rejected
)

// originOf returns byEdge if the field's value came from an edge, else typed.
func (c *credentialFiller) originOf(field string, typed origin) origin {
	if _, fed := c.in.Ports[field]; fed {
		return byEdge
	}
	return typed
}

// fill returns v with all references replaced by secrets, at any depth. v
// itself is not changed.
func (c *credentialFiller) fill(ctx context.Context, v any, from origin) (any, error) {
	var err error
	switch v := value.Ordered(v).(type) {
	case flow.SecretText:
		return c.text(ctx, v)
	case string:
		if references := flow.ParseSecretText(v); references != nil && from == typedMap {
			return c.text(ctx, references)
		}
	case []any:
		out := slices.Clone(v)
		for i := range out {
			if out[i], err = c.fill(ctx, out[i], from); err != nil {
				return nil, err
			}
		}
		return out, nil
	case *flow.Object:
		if _, isInput := flow.SecretInput(v); isInput && from == byEdge {
			return nil, flow.Errorf(flow.CodeInputInvalid, "A secret input can be used in a text that is typed in the node, such as Bearer {{token}}.")
		}
		if name, isRef := flow.SecretRef(v); isRef {
			if from == byEdge {
				return nil, referenceAsData(name)
			}
			return c.secret(ctx, name)
		}
		return v.Replace(func(_ string, item any) (any, error) { return c.fill(ctx, item, from) })
	}
	return v, nil
}

// referenceAsData returns the error for a reference that arrived by an edge.
// Sent unchanged, the receiver would get a name instead of a secret; resolved,
// a caller could choose which secret is sent.
func referenceAsData(name string) error {
	return flow.Errorf(flow.CodeInputInvalid, "The credential %q came as data, by an edge or an input. A credential is chosen in the node itself; only the text of a secret may come as data.", wording.Truncate(name, 80))
}

// targetURL returns the URL in a field of a node with its credentials filled in.
// They are opened for the host of the URL without them, so a credential cannot
// change the host.
func targetURL(ctx context.Context, in *flow.In, field string, redact func(secret string)) (*url.URL, *credentialFiller, error) {
	text, references := in.Config[field].(flow.SecretText)
	if !references {
		u, err := parseTarget(in.Text(field))
		if err != nil {
			return nil, nil, err
		}
		return u, &credentialFiller{in: in, host: flow.HostPort(u), redact: redact}, nil
	}
	c := &credentialFiller{in: in, redact: redact}
	u, err := text.FillURL(parseTarget, func(name, host string) (string, error) {
		c.host = host
		return c.secret(ctx, name)
	})
	if err != nil {
		return nil, nil, err
	}
	return u, c, nil
}

// parseTarget parses a URL and returns errors that the run can show.
func parseTarget(text string) (*url.URL, error) {
	u, err := outbound.ParseURL(strings.TrimSpace(text))
	if err != nil {
		return nil, requestError(err)
	}
	return u, nil
}

// modelHosts returns the hosts of the provider whose model a node names.
func modelHosts(n *flow.Node) []string {
	provider := ProviderOf(n)
	if provider == "" {
		return []string{"localhost"} // a model on this machine, unless an edge names another
	}
	p, _ := providers.FindPreset(provider)
	if len(p.Hosts) > 0 {
		return p.Hosts
	}
	return addressHosts(p.BaseURL)
}

// modelDestination describes where nodes with a model field send credentials.
var modelDestination = &flow.Destination{Field: "model", Hosts: modelHosts}

// addressHosts returns the host of an address, as a list of hosts that
// credentials are bound to.
func addressHosts(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	if host := flow.BoundHost(u); host != "" {
		return []string{host}
	}
	return nil
}
