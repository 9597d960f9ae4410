package nodes

import (
	"context"
	"regexp"
	"strings"

	"sluice/flow"
)

// Options of the field "by".
const (
	extractPattern = "pattern"
	extractPath    = "JSONPath"
	extractJSON    = "first JSON value"
)

// The extract kind finds parts of a text or of a JSON value.
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "extract", Title: "Extract", Group: groupText, Icon: "text-select", Class: flow.Compute,
		Summary: "Finds parts of a text or of a JSON value.",
		Doc: "A *pattern* finds matches of a regular expression (RE2) in a text. A match is the whole text that fits; with one group, the text of the group; with several, a " +
			"list; with named groups such as `(?P<year>\\d+)`, an object.\n\n" +
			"*JSONPath* selects from a JSON value as RFC 9535 defines it: `$.items[*].price`, `$..name`, `$.items[?@.price > 10]`. A text is parsed first.\n\n" +
			"*First JSON value* finds the JSON that a model wraps in sentences or in a code fence, and parses it.\n\n" +
			"If nothing is found, `value` has no value, so nodes that depend only on it are skipped, and `found` is false.",
		Fields: []flow.Field{
			{Name: "by", Title: "Look for", Type: flow.FieldSelect, Typed: true, Default: extractPattern, Options: []string{extractPattern, extractPath, extractJSON}, Help: "What to look for."},
		},
		DynamicSchema: extractSchema,
		Inputs:        []flow.Port{{Name: "from", Title: "From", Type: flow.TypeAny, Required: true, Help: "The text or the JSON value to look in."}},
		Outputs: []flow.Port{
			{Name: "value", Title: "Value", Type: flow.TypeAny, Optional: true, Help: "The first match."},
			{Name: "all", Title: "All", Type: flow.TypeList, Help: "All matches, in order."},
			{Name: "found", Title: "Found", Type: flow.TypeBoolean, Help: "Whether anything was found."},
		},
		Example: flow.Example{
			Config:  map[string]any{"by": extractPattern, "pattern": `(\d+) EUR`},
			Ports:   map[string]any{"from": "Paper for 20 EUR, ink for 35 EUR"},
			Outputs: map[string]any{"value": "20", "all": []any{"20", "35"}, "found": true},
		},
		Check: checkExtract,
		Tool:  &flow.ToolUse{},
		Run:   extract,
	}
})

// extractSchema declares the fields for the chosen option of "by".
func extractSchema(n *flow.Node) flow.DynamicSchema {
	switch n.Config["by"] {
	case extractPath:
		return flow.DynamicSchema{Fields: []flow.Field{{Name: "path", Title: "JSONPath", Type: flow.FieldText, Required: true, Help: "Such as $.items[*].price."}}}
	case extractJSON:
		return flow.DynamicSchema{}
	}
	return flow.DynamicSchema{Fields: []flow.Field{
		{Name: "pattern", Title: "Pattern", Type: flow.FieldText, Required: true, Help: `A regular expression, such as (\d+) EUR.`},
		{Name: "ignore_case", Title: "Ignore case", Type: flow.FieldBoolean, Typed: true, Default: false, Help: "Upper and lower case match."},
	}}
}

// checkExtract reports a typed path or pattern that is invalid.
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
// text. Finding nothing is not an error: the output "value" is then missing.
func extract(ctx context.Context, in *flow.In) (flow.Out, error) {
	var all []any
	var err error
	from := in.Ports["from"]
	switch in.Text("by") {
	case extractPath:
		all, err = selectPath(ctx, in, in.Text("path"), from)
	case extractJSON:
		if v, found := firstJSON(flow.Text(from)); found {
			all = []any{v}
		}
	default:
		all, err = findPattern(ctx, in, flow.Text(from))
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

// findPattern returns the matches of the pattern in a text.
func findPattern(ctx context.Context, in *flow.In, text string) ([]any, error) {
	p, fault := compilePattern(in.Text("pattern"), in.Config["ignore_case"] == true)
	if fault != nil {
		return nil, fault
	}
	budget, release := patternBudget(ctx, in, len(text))
	defer release()
	var all []any
	for m, err := range p.Matches(budget, text) {
		if err != nil {
			return nil, patternError(err, len(text))
		}
		if all = append(all, matchValue(p.GroupNames(), text, m)); len(all) > maxListItems {
			break
		}
	}
	return all, nil
}

// matchValue converts a match to a value: an object of its named groups, or else a list of its
// groups, its only group, or the whole match. A group that took no part is an empty text.
func matchValue(names []string, text string, m []int) any {
	named := &flow.Object{}
	list := make([]any, 0, len(names))
	for i, name := range names {
		group := ""
		if m[2*i] >= 0 {
			group = text[m[2*i]:m[2*i+1]]
		}
		if i > 0 {
			list = append(list, group)
		}
		if name != "" {
			named.Set(name, group)
		}
	}
	switch {
	case named.Len() > 0:
		return named
	case len(list) == 0:
		return text[m[0]:m[1]]
	case len(list) == 1:
		return list[0]
	}
	return list
}

// maxScan bounds the bytes that are scanned for JSON in a text. Without a bound the time would
// be quadratic: each bracket may begin a value that fails only at the end of the text.
const maxScan = 64 << 20

// fence matches a fenced code block in Markdown.
var fence = regexp.MustCompile("(?s)```[^\\n`]*\\n(.*?)```")

// firstJSON finds the JSON in the answer of a model: the whole text, or else the first
// code block that is JSON, or else the first object or list. Code blocks come first because
// prose may contain lists too, such as the footnote [1].
func firstJSON(text string) (any, bool) {
	if v, ok := wholeJSON(text); ok {
		return v, true
	}
	for _, block := range fence.FindAllStringSubmatch(text, 1000) {
		if v, ok := wholeJSON(block[1]); ok {
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
		if v, ok := wholeJSON(text[at : at+size]); ok {
			return v, true
		}
	}
	return nil, false
}

// wholeJSON decodes a text that is JSON. A text without content is not JSON here, although
// flow.DecodeReceived reads it as null.
func wholeJSON(text string) (v any, ok bool) {
	if strings.Trim(text, "\ufeff \t\r\n") == "" {
		return nil, false
	}
	v, err := flow.DecodeReceived([]byte(text))
	return v, err == nil
}

// bracketed returns the length in bytes of the object or list at the start of a text, judged
// by its brackets and quotes only, and whether it is closed.
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
