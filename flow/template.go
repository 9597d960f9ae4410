package flow

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"sluice/flow/position"
	"sluice/flow/value"
)

// TemplateNames returns the port names in the templates of a config value, without duplicates.
// Invalid templates have none.
func TemplateNames(value any) (list []string) {
	seen := map[string]bool{}
	_, _ = EachText(value, "", func(s, _ string) (any, error) {
		if t, err := ParseTemplate(s); err == nil {
			for _, name := range t.Names() {
				if !seen[name] {
					seen[name] = true
					list = append(list, name)
				}
			}
		}
		return nil, nil
	})
	return list
}

// Template is a text with {{name}} and {{name.path}} placeholders. It only substitutes: there is
// no logic, and inserted values are not parsed as templates.
type Template struct{ parts []templatePart }

// templatePart is literal text, a placeholder if path is set, or a reference to a credential.
type templatePart struct {
	text       string
	path       []string
	credential string
}

// templatePath matches the content of a placeholder: a name, and members or indexes of its
// value.
var templatePath = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$`)

// ParseTemplate parses a template. \{{ stands for a literal {{.
func ParseTemplate(s string) (*Template, error) {
	t := &Template{}
	var literal strings.Builder
	for rest := s; ; {
		before, after, found := strings.Cut(rest, "{{")
		if !found {
			literal.WriteString(rest)
			t.literal(&literal)
			return t, nil
		}
		if head, escaped := strings.CutSuffix(before, `\`); escaped {
			literal.WriteString(head + "{{")
			rest = after
			continue
		}
		inner, tail, closed := strings.Cut(after, "}}")
		place := strings.TrimSpace(inner)
		if name, ok := strings.CutPrefix(place, credentialMark); ok && closed && credentialRefName.MatchString(strings.TrimSpace(name)) {
			literal.WriteString(before)
			t.literal(&literal)
			t.parts = append(t.parts, templatePart{credential: strings.TrimSpace(name)})
			rest = tail
			continue
		}
		if !closed || !templatePath.MatchString(place) {
			return nil, fmt.Errorf("%q at character %d is not a place: write {{name}} or {{name.path}}, or \\{{ for the two characters themselves",
				"{{"+FirstRunes(inner, 20), utf8.RuneCountInString(s[:len(s)-len(rest)+len(before)])+1)
		}
		literal.WriteString(before)
		t.literal(&literal)
		t.parts = append(t.parts, templatePart{path: strings.Split(place, ".")})
		rest = tail
	}
}

// literal appends the literal text that was collected, and empties it.
func (t *Template) literal(text *strings.Builder) {
	if text.Len() > 0 {
		t.parts = append(t.parts, templatePart{text: text.String()})
	}
	text.Reset()
}

func (p *templatePart) isText() bool { return p.path == nil && p.credential == "" }

// Names returns the port names in the template, in order of appearance.
func (t *Template) Names() []string {
	var names []string
	seen := map[string]bool{}
	for _, p := range t.parts {
		if p.path != nil && !seen[p.path[0]] {
			seen[p.path[0]] = true
			names = append(names, p.path[0])
		}
	}
	return names
}

// Render returns the text with values inserted. It returns an error for a placeholder without a
// value. References to credentials stay references; see RenderSecret.
func (t *Template) Render(values map[string]any, escape Escape) (string, error) {
	if len(t.parts) == 1 && t.parts[0].isText() {
		return t.parts[0].text, nil
	}
	text, err := t.RenderSecret(values, escape)
	return text.String(), err
}

// errTextTooLarge is returned for a text that grows beyond MaxTextBytes.
var errTextTooLarge = fmt.Errorf("the text grows beyond %d MiB", MaxTextBytes>>20)

// format returns the format of the text in a field that is escaped in a way. Text that does not
// look like JSON is plain text, and a lone placeholder is a whole form.
func (t *Template) format(escape Escape) Escape {
	if escape == EscapeJSON && !t.looksLikeJSON() || escape == EscapeForm && len(t.parts) == 1 {
		return EscapeNone
	}
	return escape
}

// insertValue appends the value of a placeholder, encoded for its position.
func insertValue(w *position.Writer, values map[string]any, path []string) error {
	v, err := lookUp(values, path)
	if err != nil {
		return err
	}
	name := "{{" + strings.Join(path, ".") + "}}"
	if _, outside := values[path[0]].(outsideValue); outside {
		w.Insert(name, Enclose(Text(v)))
		return nil
	}
	at := w.At()
	if at == position.JSONValue {
		w.Insert(name, string(EncodeJSON(v)))
		return nil
	}
	text, err := at.Encode(Text(v))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	w.Insert(name, text)
	return nil
}

// looksLikeJSON reports whether the first literal text looks like JSON. Values are then escaped,
// so that no value can break out of its string.
func (t *Template) looksLikeJSON() bool {
	if len(t.parts) == 0 || !t.parts[0].isText() {
		return false
	}
	return LooksLikeJSON(t.parts[0].text)
}

func lookUp(values map[string]any, path []string) (any, error) {
	v, ok := values[path[0]]
	if !ok {
		return nil, fmt.Errorf("{{%s}} has no value", path[0])
	}
	if outside, is := v.(outsideValue); is {
		v = outside.value
	}
	for i, name := range path[1:] {
		next, ok := JSONMember(v, name)
		if !ok {
			return nil, fmt.Errorf("{{%s}}: %s is %s without %q", strings.Join(path, "."), strings.Join(path[:i+1], "."), withArticle(TypeOf(v)), name)
		}
		v = next
	}
	return v, nil
}

// JSONMember returns a member of an object, or an item of a list if name is its index from 0,
// and whether it exists.
func JSONMember(v any, name string) (any, bool) {
	list, isList := v.([]any)
	if !isList {
		return value.Lookup(v, name)
	}
	if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(list) {
		return list[i], true
	}
	return nil, false
}

func withArticle(kind string) string {
	if kind == "object" {
		return "an object"
	}
	return "a " + kind
}

// FirstRunes truncates a text to n characters and appends an ellipsis, which does not count.
func FirstRunes(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

// EachText calls visit for every text in a config value, with its JSON Pointer prefixed by at,
// and returns the value with the texts replaced by the results.
func EachText(v any, at string, visit func(s, at string) (any, error)) (any, error) {
	switch v := value.Ordered(v).(type) {
	case string:
		return visit(v, at)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			item, err := EachText(v[i], at+Pointer(i), visit)
			if err != nil {
				return nil, err
			}
			out[i] = item
		}
		return out, nil
	case *Object:
		if IsSecretRef(v) {
			return v, nil // the name of a credential is not a template
		}
		return v.Replace(func(name string, item any) (any, error) { return EachText(item, at+Pointer(name), visit) })
	}
	return v, nil
}
