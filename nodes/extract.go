package nodes

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/theory/jsonpath"

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
			{Name: "value", Title: "Value", Type: flow.TypeAny, Help: "The first that was found."},
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

// Limits of JSONPath. A descendant segment (..) visits everything below each node it
// starts from, so several of them, or one within a filter, multiply.
const (
	maxPath        = 500    // bytes
	maxDescendants = 2      // descendant segments in a path
	maxFiltered    = 10_000 // items that a filter with a query of its own may look at
)

func parsePath(source string) (*jsonpath.Path, error) {
	if len(source) > maxPath || strings.Count(source, "..") > maxDescendants {
		return nil, flow.Errorf(flow.CodeInputInvalid, "A JSONPath has at most %d bytes and %d times \"..\".", maxPath, maxDescendants)
	}
	path, err := jsonpath.Parse(source)
	if err != nil {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The JSONPath cannot be used: %s.", strings.TrimPrefix(err.Error(), "jsonpath: "))
	}
	return path, nil
}

// selectPath returns what a path selects from a value, or from the JSON in a text.
func selectPath(source string, from any) ([]any, error) {
	path, err := parsePath(source)
	if err != nil {
		return nil, err
	}
	if text, isText := from.(string); isText {
		if from, err = flow.DecodeJSON([]byte(text)); err != nil {
			return nil, flow.Errorf(flow.CodeInputInvalid, "The text is not JSON: %s. To find JSON within a text, look for the first JSON value.", err)
		}
	}
	limit := maxListItems
	if strings.Contains(source, "?") && (strings.Contains(source, "..") || strings.Count(source, "$")+strings.Count(source, "?") > 2) {
		limit = maxFiltered
	}
	if n := countItems(from, limit); n > limit {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The value has more than %d items, too many for this JSONPath. Select a part of it first.", limit)
	}
	return path.Select(from), nil
}

// countItems counts a value and everything in it, up to one more than most.
func countItems(v any, most int) (n int) {
	n = 1
	add := func(item any) {
		if n <= most {
			n += countItems(item, most-n)
		}
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			add(item)
		}
	case map[string]any:
		for _, item := range v {
			add(item)
		}
	}
	return n
}

// firstJSON finds the first object or list in a text that is valid JSON, or else the
// text itself if it is a JSON value. Models write sentences and code fences around it.
func firstJSON(text string) (any, bool) {
	if v, err := flow.DecodeJSON([]byte(strings.TrimSpace(text))); err == nil {
		return v, true
	}
	for at, tries := 0, 0; tries < 1000; tries++ {
		next := strings.IndexAny(text[at:], "{[")
		if next < 0 {
			break
		}
		at += next
		d := json.NewDecoder(strings.NewReader(text[at:]))
		var raw json.RawMessage
		if d.Decode(&raw) == nil {
			if v, err := flow.DecodeJSON(raw); err == nil {
				return v, true
			}
		}
		at++
	}
	return nil, false
}
