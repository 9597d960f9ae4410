package document

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/value"
)

// ExtractedSecret is a literal secret that was extracted from a document.
type ExtractedSecret struct {
	Node, Field string // Field is the config field, or the name of the value in it
	Host        string // host that the node sends it to, if it is fixed
	Secret      string
}

// secretExtractor replaces literal secrets in nodes by references.
type secretExtractor struct {
	kinds *flow.Registry
	// name returns the credential that a secret moves to. It must return the same name for
	// equal secrets of one field.
	name func(l *ExtractedSecret) string
	// fed reports whether an edge arrives at a port of a node. It may be nil.
	fed  func(node, port string) bool
	list []*ExtractedSecret
}

// ExtractSecrets replaces every literal secret in the document by a reference to a credential,
// with the name that name chooses. Secrets that are templates stay, because their values come
// from the inputs of a run.
func ExtractSecrets(d *flow.Document, kinds *flow.Registry, name func(l *ExtractedSecret) string) []*ExtractedSecret {
	x := &secretExtractor{kinds: kinds, name: name, fed: d.IsFed}
	for i := range d.Nodes {
		x.node(&d.Nodes[i])
	}
	return x.list
}

// HasLiteralSecrets reports whether ExtractSecrets would extract anything.
func HasLiteralSecrets(d *flow.Document, kinds *flow.Registry) bool {
	copied := *d
	copied.Nodes = slices.Clone(d.Nodes)
	return len(ExtractSecrets(&copied, kinds, func(*ExtractedSecret) string { return "x" })) > 0
}

// ExtractionEdits returns edits that set one config field of each node with literal secrets to
// its current value. Applying them extracts the secrets, as with all edited nodes.
func ExtractionEdits(d *flow.Document, kinds *flow.Registry) (ops []Edit) {
	for i := range d.Nodes {
		n := d.Nodes[i]
		x := &secretExtractor{kinds: kinds, name: func(*ExtractedSecret) string { return "x" }, fed: d.IsFed}
		if changed := x.node(&n); len(changed) > 0 {
			ops = append(ops, Edit{Op: OpSet, Node: n.ID, Field: changed[0], Value: d.Nodes[i].Config[changed[0]]})
		}
	}
	return ops
}

// node extracts the secrets of a node and returns the changed config fields. It replaces the
// config instead of modifying it.
func (x *secretExtractor) node(n *flow.Node) (changed []string) {
	k := x.kinds.For(n)
	if k == nil {
		return nil
	}
	config := maps.Clone(n.Config)
	changed = x.userInfo(n, k, config)
	for i := range k.Fields {
		f := &k.Fields[i]
		value, ok := config[f.Name]
		if !ok {
			continue
		}
		before := len(x.list)
		if value = x.field(n, k, f, value); len(x.list) > before {
			config[f.Name] = value
			if !slices.Contains(changed, f.Name) {
				changed = append(changed, f.Name)
			}
		}
	}
	if len(changed) > 0 {
		n.Config = config
	}
	return changed
}

// field returns the value of a field without literal secrets. It copies what it changes.
func (x *secretExtractor) field(n *flow.Node, k *flow.Kind, f *flow.Field, value any) any {
	at := place{n: n, f: f, host: x.host(n, k)}
	switch {
	case f.Type == flow.FieldSecret:
		if s, ok := value.(string); ok && at.isLiteral(s) {
			return flow.SecretRefTo(x.take(at, f.Name, s))
		}
	case f.Secrets == flow.SecretsInURL:
		fed := x.fed != nil && x.fed(n.ID, f.Name)
		switch v := value.(type) {
		case string:
			return x.urlText(at.withHost(v, fed), v)
		case []any:
			out := slices.Clone(v)
			for i := range out {
				if s, ok := out[i].(string); ok {
					out[i] = x.urlText(at.withHost(s, fed), s)
				}
			}
			return out
		}
	case f.Secrets == flow.SecretsByName:
		if s, ok := value.(string); ok {
			return x.bodyText(at, s)
		}
		return x.members(at, value)
	}
	return value
}

// host returns the only host that a node sends secrets to, or "" if it is not fixed.
func (x *secretExtractor) host(n *flow.Node, k *flow.Kind) string {
	if k.Sends == nil || x.fed != nil && k.Sends.Field != "" && x.fed(n.ID, k.Sends.Field) {
		return ""
	}
	if hosts := k.Sends.Hosts(n); len(hosts) > 0 {
		return hosts[0]
	}
	return ""
}

// place is the place of a secret.
type place struct {
	n    *flow.Node
	f    *flow.Field
	host string
}

// withHost returns the place in a URL, whose secrets are sent to the host of the URL. If an edge leads to
// the field, the URL is not used.
func (at place) withHost(address string, fed bool) place {
	at.host = ""
	if !fed {
		at.host = flow.FixedHost(address)
	}
	return at
}

// isLiteral reports whether a text holds a secret itself, rather than a
// reference or a template that is filled in when the node runs.
func (at place) isLiteral(s string) bool {
	return strings.TrimSpace(s) != "" && !(at.f.Template && strings.Contains(s, "{{")) && len(flow.TextCredentials(s)) == 0
}

// take records a secret and returns the name of the credential that it moves to.
func (x *secretExtractor) take(at place, field, secret string) (credential string) {
	l := &ExtractedSecret{Node: at.n.ID, Field: strings.ToLower(field), Host: at.host, Secret: secret}
	x.list = append(x.list, l)
	return x.name(l)
}

// members extracts the secrets in a map, or at any depth of a JSON value.
func (x *secretExtractor) members(at place, v any) any {
	switch v := value.Ordered(v).(type) {
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = x.members(at, out[i])
		}
		return out
	case *flow.Object:
		if flow.IsSecretRef(v) {
			return v
		}
		out, _ := v.Replace(func(name string, _ any) (any, error) { return x.member(at, v, name), nil })
		return out
	}
	return v
}

// member extracts one member of an object. In a map control, such as headers, the name
// decides. In free JSON a name such as "key" is too common, so the value must look like a secret
// as well; a pair {"name": …, "value": …} counts as one named member.
func (x *secretExtractor) member(at place, in *flow.Object, name string) any {
	v := in.Get(name)
	s, isText := v.(string)
	secret := at.f.IsSecretName(name)
	if at.f.Type != flow.FieldMap {
		secret = flow.IsSecretMember(name, v)
		if label := pairName(in); name == "value" && label != "" && flow.IsSecretName(label) {
			secret, name = true, label // {"name": "Authorization", "value": …}
		}
	}
	if isText && secret && at.isLiteral(s) {
		return flow.SecretRefTo(x.take(at, name, s))
	}
	if isText {
		return v
	}
	if items, isList := v.([]any); isList && secret && at.f.Type == flow.FieldMap {
		return x.listed(at, name, items)
	}
	return x.members(at, v)
}

// listed extracts the secrets in a list of texts under a secret name.
func (x *secretExtractor) listed(at place, name string, items []any) []any {
	out := slices.Clone(items)
	for i, item := range items {
		if s, isText := item.(string); isText && at.isLiteral(s) {
			out[i] = flow.SecretRefTo(x.take(at, name, s))
		}
	}
	return out
}

// pairName returns the name in an object with a name and a value, such as a header.
func pairName(o *flow.Object) string {
	for _, member := range []string{"name", "key"} {
		if s, ok := o.Get(member).(string); ok {
			return s
		}
	}
	return ""
}

// urlText extracts the secrets of a URL, which may be a template: the user name and password,
// unless userInfo has moved them, and secret query parameters.
func (x *secretExtractor) urlText(at place, s string) string {
	if scheme, userInfo, rest, found := flow.CutUserInfo(s); found && at.isLiteral(userInfo) {
		if secret, err := url.PathUnescape(userInfo); err == nil {
			s = scheme + flow.CredentialText(x.take(at, "password", secret)) + "@" + rest
		}
	}
	before, query, found := strings.Cut(s, "?")
	if !found {
		return s
	}
	query, fragment, hasFragment := strings.Cut(query, "#")
	query = x.pairs(at, query)
	if hasFragment {
		query += "#" + fragment
	}
	return before + "?" + query
}

// pairs extracts the secrets in name=value&name=value.
func (x *secretExtractor) pairs(at place, s string) string {
	list := strings.Split(s, "&")
	for i, pair := range list {
		name, value, found := strings.Cut(pair, "=")
		decodedName, errName := url.QueryUnescape(name)
		secret, errValue := url.QueryUnescape(value)
		if found && errName == nil && errValue == nil && flow.IsSecretName(decodedName) && at.isLiteral(secret) && !strings.Contains(value, "{{") {
			list[i] = name + "=" + flow.CredentialText(x.take(at, decodedName, secret))
		}
	}
	return strings.Join(list, "&")
}

// userInfo moves a user name and password in the URL of a node to the header Authorization, in
// which HTTP sends them anyway: to the headers of the node, or to the custom signature of a
// webhook. It does not replace an existing header. It returns the changed config fields.
func (x *secretExtractor) userInfo(n *flow.Node, k *flow.Kind, config map[string]any) (changed []string) {
	s, _ := config["url"].(string)
	scheme, userInfo, rest, found := flow.CutUserInfo(s)
	f := k.Field("url")
	if f == nil || f.Secrets != flow.SecretsInURL || !found || strings.Contains(userInfo, "{{") {
		return nil
	}
	user, password, _ := strings.Cut(userInfo, ":")
	user, errUser := url.PathUnescape(user)
	password, errPassword := url.PathUnescape(password)
	if errUser != nil || errPassword != nil {
		return nil
	}
	sent := *n
	sent.Config = config
	reference := func(field *flow.Field) any {
		config["url"] = scheme + rest
		at := place{n: n, f: field, host: x.host(&sent, k)}
		return flow.SecretRefTo(x.take(at, "authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password))))
	}
	isFed := func(field string) bool { return x.fed != nil && x.fed(n.ID, field) }
	named, isMap := flow.AsObject(config["headers"])
	headers, signature := k.Field("headers"), k.Field("signature")
	switch {
	case headers != nil && (config["headers"] == nil || isMap) && !hasAuthorization(named) && !isFed("headers"):
		named = named.Clone()
		named.Set("Authorization", reference(headers))
		config["headers"] = named
		return []string{"url", "headers"}
	case signature != nil && (config["signature"] == nil || config["signature"] == "") && !isFed("signature"):
		config["signature"], config["signature_header"] = reference(signature), "Authorization"
		return []string{"url", "signature", "signature_header"}
	}
	return nil
}

// hasAuthorization reports whether headers include Authorization, ignoring case.
func hasAuthorization(headers *flow.Object) bool {
	for name := range headers.All() {
		if strings.EqualFold(name, "Authorization") {
			return true
		}
	}
	return false
}

// bodyText extracts the secrets in a body that is typed as text: JSON, which may be a template, or
// a form.
func (x *secretExtractor) bodyText(at place, s string) string {
	switch {
	case flow.LooksLikeJSON(s):
		return x.jsonText(at, s)
	case at.n.Config["body_type"] == "form":
		return x.pairs(at, s)
	}
	return s
}

// jsonText extracts the members with secret names in JSON text. The text may be a template that is
// not valid JSON yet, so it scans only strings.
func (x *secretExtractor) jsonText(at place, s string) string {
	var out strings.Builder
	name, isName, done := "", false, 0
	references := flow.CredentialObject.FindAllStringIndex(s, -1)
	for i := 0; i < len(s); {
		if len(references) > 0 && i == references[0][0] {
			i, isName, references = references[0][1], false, references[1:]
			continue
		}
		if s[i] != '"' {
			if isName && s[i] != ':' && !strings.ContainsRune(" \t\r\n", rune(s[i])) {
				isName = false
			}
			i++
			continue
		}
		end := stringEnd(s, i)
		text, err := flow.DecodeJSON([]byte(s[i:end]))
		value, _ := text.(string)
		if isName && err == nil && flow.IsSecretMember(name, value) && at.isLiteral(value) {
			out.WriteString(s[done:i] + `"` + flow.CredentialText(x.take(at, name, value)) + `"`)
			done = end
		}
		rest := strings.TrimLeft(s[end:], " \t\r\n")
		name, isName = value, err == nil && strings.HasPrefix(rest, ":")
		i = end
	}
	return out.String() + s[done:]
}

// stringEnd returns the index after the JSON string that begins at start.
func stringEnd(s string, start int) int {
	for i := start + 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// notSlug matches the characters that slug replaces by a hyphen.
var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

// slug converts a text to the characters that are valid in credential names.
func slug(s string) string {
	return strings.Trim(notSlug.ReplaceAllString(strings.ToLower(s), "-"), "-")
}

// CredentialName returns a readable name for an extracted secret, made of flow, node and field.
func CredentialName(flowName string, l *ExtractedSecret) string {
	return strings.Trim(fmt.Sprintf("%.40s-%s-%.40s", slug(flowName), l.Node, slug(l.Field)), "-_")
}
