package flow

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Lifted is a literal secret taken out of a document.
type Lifted struct {
	Node, Field string
	Host        string // where its node sends it, when that is typed and fixed
	Secret      string
	ref         map[string]any
}

// Name names the credential in the document.
func (l *Lifted) Name(credential string) { l.ref["credential"] = credential }

// LiftSecrets takes every literal out of the document's secret fields and puts
// {"credential": …} in its place, which the caller must give a name. Secrets
// that are templates stay: what they show comes from the inputs of a run.
func (d *Document) LiftSecrets(kinds *Registry) []*Lifted {
	var list []*Lifted
	for i := range d.Nodes {
		n := &d.Nodes[i]
		k := kinds.For(n)
		if k == nil {
			continue
		}
		for j := range k.Fields {
			list = append(list, n.lift(&k.Fields[j])...)
		}
	}
	return list
}

func (n *Node) lift(f *Field) []*Lifted {
	take := func(v any, field string) *Lifted {
		s, isText := v.(string)
		if !isText || s == "" || f.Template && strings.Contains(s, "{{") {
			return nil
		}
		return &Lifted{Node: n.ID, Field: field, Host: n.host(), Secret: s, ref: map[string]any{}}
	}
	var list []*Lifted
	if f.Type == FieldSecret {
		if l := take(n.Config[f.Name], f.Name); l != nil {
			n.Config[f.Name] = l.ref
			list = append(list, l)
		}
	}
	named, _ := n.Config[f.Name].(map[string]any)
	for _, name := range sortedNames(named) {
		if !f.IsSecretName(name) {
			continue
		}
		if l := take(named[name], strings.ToLower(name)); l != nil {
			named[name] = l.ref
			list = append(list, l)
		}
	}
	return list
}

// host is where the node sends its requests, when its URL is typed and fixed.
func (n *Node) host() string {
	s, _ := n.Config["url"].(string)
	u, err := url.Parse(s)
	if err != nil || strings.Contains(u.Host, "{{") {
		return ""
	}
	return u.Hostname()
}

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

// credentialName is a readable name for a lifted secret: flow, node and field.
func credentialName(flowName string, l *Lifted) string {
	slug := strings.Trim(notSlug.ReplaceAllString(strings.ToLower(flowName), "-"), "-")
	return strings.Trim(fmt.Sprintf("%.40s-%s-%s", slug, l.Node, l.Field), "-")
}
