package nodes

import (
	"context"
	"regexp"
	"strings"

	"sluice/flow"
)

// What is looked for, as the field by says.
const (
	extractPattern = "pattern"
	extractPath    = "JSONPath"
	extractJSON    = "first JSON value"
)

// The extract kind takes something out of a text or a JSON value.
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "extract", Title: "Extract", Group: groupText, Icon: "text-select", Class: flow.Compute,
		Summary: "Finds parts of a text or of a JSON value.",
		Doc: "A *pattern* finds matches of a regular expression (RE2) in a text. A match is the whole text that fits; with one group, the text of the group; with several, a " +
			"list; with named groups such as `(?P<year>\\d+)`, an object.\n\n" +
			"*JSONPath* selects from a JSON value as RFC 9535 defines it: `$.items[*].price`, `$..name`, `$.items[?@.price > 10]`. A text is parsed first.\n\n" +
			"*First JSON value* finds the JSON that a model wraps in sentences or in a code fence, and parses it.\n\n" +
			"Nothing leaves `value` when nothing is found, so what depends only on it is skipped; `found` tells which.",
		Fields: []flow.Field{
			{Name: "by", Title: "Look for", Type: flow.FieldSelect, Typed: true, Default: extractPattern, Options: []string{extractPattern, extractPath, extractJSON}, Help: "What to look for."},
		},
		DynamicSchema: extractSchema,
		Inputs:        []flow.Port{{Name: "from", Title: "From", Type: flow.TypeAny, Required: true, Help: "The text or the JSON value to look in."}},
		Outputs: []flow.Port{
			{Name: "value", Title: "Value", Type: flow.TypeAny, Optional: true, Help: "The first that was found."},
			{Name: "all", Title: "All", Type: flow.TypeList, Help: "Everything that was found, in order."},
			{Name: "found", Title: "Found", Type: flow.TypeBoolean, Help: "Whether anything was found."},
		},
		Example: flow.Example{
			Config:  map[string]any{"by": extractPattern, "pattern": `(\d+) EUR`},
			Ports:   map[string]any{"from": "Paper for 20 EUR, ink for 35 EUR"},
			Outputs: map[string]any{"value": "20", "all": []any{"20", "35"}, "found": true},
		},
		Check: checkExtract,
		Run:   extract,
	}
})

// extractSchema declares the field of what is looked for.
func extractSchema(n *flow.Node) flow.DynamicSchema {
	switch n.Config["by"] {
	case extractPath:
		return flow.DynamicSchema{Fields: []flow.Field{{Name: "path", Title: "JSONPath", Type: flow.FieldText, Required: true, Help: "Such as $.items[*].price."}}}
	case extractJSON:
		return flow.DynamicSchema{}
	}
	return flow.DynamicSchema{Fields: []flow.Field{
		{Name: "pattern", Title: "Pattern", Type: flow.FieldText, Required: true, Help: `A regular expression, such as (\d+) EUR.`},
		{Name: "ignore_case", Title: "Ignore case", Type: flow.FieldBoolean, Typed: true, Default: false, Help: "Upper and lower case are the same."},
	}}
}

// checkExtract checks the typed path if the node extracts by path, or else the typed
// pattern.
func checkExtract(n *flow.Node) []flow.Problem {
	path, typed := n.Config["path"].(string)
	if n.Config["by"] != extractPath || !typed || path == "" {
		return checkPattern(n, "pattern")
	}
	if _, err := parsePath(path); err != nil {
		return []flow.Problem{{Pointer: flow.Pointer("path"), Code: "invalid", Detail: flow.AsError(err).Message}}
	}
	return nil
}

// extract finds values by a path in JSON, by a pattern in text, or as the first JSON in a
// text. Finding none is no error: the output "value" is then missing.
func extract(_ context.Context, in *flow.In) (flow.Out, error) {
	var all []any
	var err error
	from := in.Ports["from"]
	switch in.Text("by") {
	case extractPath:
		all, err = selectPath(in.Text("path"), from)
	case extractJSON:
		if v, found := firstJSON(flow.Text(from)); found {
			all = []any{v}
		}
	default:
		all, err = findPattern(in.Text("pattern"), flow.Text(from), in.Config["ignore_case"] == true)
	}
	if err != nil {
		return flow.Out{}, err
	}
	if len(all) > maxListItems {
		return flow.Out{}, errTooManyItems()
	}
	outputs := map[string]any{"all": append([]any{}, all...), "found": len(all) > 0}
	if len(all) > 0 {
		outputs["value"] = all[0]
	}
	return flow.Out{Outputs: outputs}, nil
}

// findPattern returns the matches of a pattern.
func findPattern(source, text string, ignoreCase bool) ([]any, error) {
	p, fault := compilePattern(source, ignoreCase)
	if fault != nil {
		return nil, fault
	}
	if err := p.admits(text); err != nil {
		return nil, err
	}
	var all []any
	for _, m := range p.FindAllStringSubmatch(text, maxListItems+1) {
		all = append(all, p.groups(m))
	}
	return all, nil
}

// groups returns what a match captured: see the documentation of the kind.
func (p *pattern) groups(m []string) any {
	named := map[string]any{}
	list := make([]any, 0, len(m))
	for i, name := range p.SubexpNames() {
		if i > 0 {
			list = append(list, m[i])
		}
		if name != "" {
			named[name] = m[i]
		}
	}
	switch {
	case len(named) > 0:
		return named
	case len(list) == 0:
		return m[0]
	case len(list) == 1:
		return list[0]
	}
	return list
}

// maxScan bounds the bytes that are looked at for JSON in a text, since every bracket
// may begin a value that only the end of the text proves wrong.
const maxScan = 64 << 20

// fence matches a block of code in Markdown.
var fence = regexp.MustCompile("(?s)```[^\\n`]*\\n(.*?)```")

// firstJSON finds the JSON in the answer of a model: the whole text, or else the first
// block of code that is JSON, or else the first object or list. Blocks come before
// the rest because sentences have lists too, such as the footnote [1].
func firstJSON(text string) (any, bool) {
	if v, err := flow.DecodeJSON([]byte(strings.TrimSpace(text))); err == nil {
		return v, true
	}
	for _, block := range fence.FindAllStringSubmatch(text, 1000) {
		if v, err := flow.DecodeJSON([]byte(strings.TrimSpace(block[1]))); err == nil {
			return v, true
		}
	}
	for at, scanned := 0, 0; scanned < maxScan; at++ {
		next := strings.IndexAny(text[at:], "{[")
		if next < 0 {
			break
		}
		at += next
		size, closed := bracketed(text[at:])
		scanned += size
		if !closed {
			continue
		}
		if v, err := flow.DecodeJSON([]byte(text[at : at+size])); err == nil {
			return v, true
		}
	}
	return nil, false
}

// bracketed returns how many bytes an object or list at the start of a text has, as
// far as brackets and quotes tell, and whether it is closed.
func bracketed(text string) (size int, closed bool) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(text), false
}
