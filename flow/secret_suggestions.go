package flow

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// SecretSuggestion is a text in a node's config that looks like a secret and
// that a user may move to a credential. Texts under the name of a secret move
// automatically when a draft is saved; suggestions look like a secret, or are
// older than the rule.
type SecretSuggestion struct {
	Field  string // the config field
	Name   string // what the text is called there; empty for a part of a URL's path
	Secret string
	raw    string // as it stands in the text of the field; empty for a value of its own
	quoted bool   // raw is a JSON string
}

// SuggestSecrets returns the texts in a field of a node that look like secrets.
func (n *Node) SuggestSecrets(f *Field) []SecretSuggestion {
	value := n.Config[f.Name]
	s := &suggester{field: f}
	text, isText := value.(string)
	switch {
	case f.Secrets == SecretsInURL && isText:
		s.url(text)
	case f.Secrets == SecretsByName && isText && looksLikeJSONText(text):
		s.jsonText(text)
	case f.Secrets == SecretsByName && isText && n.Config["body_type"] == "form":
		s.pairs(text)
	case f.Secrets == SecretsByName && !isText:
		s.members(value)
	}
	return s.list
}

type suggester struct {
	field *Field
	list  []SecretSuggestion
}

func (s *suggester) add(name, secret, raw string, quoted bool) {
	known := slices.ContainsFunc(s.list, func(o SecretSuggestion) bool { return o.Name == name && o.Secret == secret })
	if strings.Contains(secret, "{{") || strings.TrimSpace(secret) == "" || known || !LooksSecret(secret) && !IsSecretName(name) {
		return
	}
	s.list = append(s.list, SecretSuggestion{Field: s.field.Name, Name: name, Secret: secret, raw: raw, quoted: quoted})
}

func (s *suggester) members(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			s.members(item)
		}
	case map[string]any:
		if IsSecretRef(v) {
			return
		}
		for _, name := range sortedNames(v) {
			if text, ok := v[name].(string); ok && !(name == "key" && !LooksSecret(text)) {
				s.add(name, text, "", false)
			} else if !ok {
				s.members(v[name])
			}
		}
	}
}

func (s *suggester) url(text string) {
	address, query, _ := strings.Cut(text, "?")
	if _, path, found := strings.Cut(address, "://"); found {
		for part := range strings.SplitSeq(path, "/") {
			if secret, err := url.PathUnescape(part); err == nil && LooksSecret(secret) {
				s.add("", secret, part, false)
			}
		}
	}
	query, _, _ = strings.Cut(query, "#")
	s.pairs(query)
}

func (s *suggester) pairs(text string) {
	for pair := range strings.SplitSeq(text, "&") {
		name, value, found := strings.Cut(pair, "=")
		name, errName := url.QueryUnescape(name)
		secret, err := url.QueryUnescape(value)
		if found && err == nil && errName == nil {
			s.add(name, secret, value, false)
		}
	}
}

func (s *suggester) jsonText(text string) {
	text = withPlaces(text)
	name := ""
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		end := stringEnd(text, i)
		v, err := DecodeJSON([]byte(text[i:end]))
		value, _ := v.(string)
		isName := strings.HasPrefix(strings.TrimLeft(text[end:], " \t\r\n"), ":")
		switch {
		case err == nil && isName:
			name = value
		case err == nil && !(name == "key" && !LooksSecret(value)):
			s.add(name, value, text[i:end], true)
			name = ""
		}
		i = end - 1
	}
}

// replace returns the value of the field with the secret replaced by a
// reference.
func (s *SecretSuggestion) replace(value any, credential string) any {
	text, isText := value.(string)
	switch {
	case isText && s.quoted:
		return strings.ReplaceAll(text, s.raw, `"`+credentialText(credential)+`"`)
	case isText && s.raw != "":
		return strings.ReplaceAll(text, s.raw, credentialText(credential))
	}
	return replaceLiteral(value, s.Secret, credential, s.Name)
}

// MoveSecret moves a text that looks like a secret to a credential of its own,
// bound to the host that the node sends it to if that host is fixed. index is
// the position in the suggestions for the field. It returns the name of the
// credential.
func (l *Library) MoveSecret(ctx context.Context, ws, flowID, user, node, field string, index int) (string, error) {
	for try := 0; ; try++ {
		name, err := l.moveSecret(ctx, ws, flowID, user, node, field, index)
		if _, missed := errors.AsType[*EditsMissed](err); !missed || try == 3 {
			return name, err
		}
	}
}

func (l *Library) moveSecret(ctx context.Context, ws, flowID, user, node, field string, index int) (string, error) {
	f, err := l.Store.FindFlow(ctx, ws, flowID)
	if err != nil {
		return "", err
	}
	d, _ := ParseDocument(f.Draft)
	if d == nil {
		return "", fmt.Errorf("the stored draft of %s cannot be read", flowID)
	}
	n := d.Node(node)
	gone := Errorf(CodeEditsGone, "The field has changed. Load the page again.")
	if n == nil {
		return "", gone
	}
	k := l.Kinds.For(n)
	if k == nil || k.Field(field) == nil {
		return "", gone
	}
	list := n.SuggestSecrets(k.Field(field))
	if index < 0 || index >= len(list) {
		return "", gone
	}
	s := list[index]
	secret := &Lifted{Node: n.ID, Field: strings.ToLower(s.Name), Secret: s.Secret}
	if secret.Field == "" {
		secret.Field = field
	}
	if hosts, open := d.destination(n, k.destinationOf(k.Field(field))); !open {
		secret.Host = hosts[0]
	}
	names := &secretNamer{library: l, flow: f, title: d.Name}
	name := names.of(ctx)(secret)
	if err := names.keep(ctx, []*Lifted{secret}); err != nil {
		return "", err
	}
	edit := Edit{Op: OpSet, Node: n.ID, Field: field, Value: s.replace(n.Config[field], name)}
	hide := func(e *Edit) {
		if e.Op == OpSet && e.Node == n.ID && e.Field == field {
			e.Value = s.replace(e.Value, name)
		}
	}
	_, err = l.editFlow(ctx, ws, flowID, user, EditRequest{Base: f.Rev, Tab: "form", TxID: rand.Text(), Ops: []Edit{edit}}, hide)
	return name, err
}
