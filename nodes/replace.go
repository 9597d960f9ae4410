package nodes

import (
	"context"
	"regexp"

	"sluice/flow"
)

// The replace kind replaces parts of a text.
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "replace", Title: "Replace", Group: groupText, Icon: "replace", Class: flow.Compute,
		Summary: "Replaces parts of a text.",
		Doc: "Replaces every occurrence of *Find* in the text. With *Regular expression*, *Find* is a pattern of RE2, and `$1` or `${name}` in the " +
			"replacement stands for a group, and `$0` for the whole match; write `$$` for a dollar sign. A group that the pattern does not have is plain text, such as the `$5` of a price. RE2 has no lookaheads and no backreferences, so no pattern " +
			"can take forever.",
		Fields: []flow.Field{
			{Name: "text", Title: "Text", Type: flow.FieldArea, Template: true, Required: true, Help: "The text to change."},
			{Name: "find", Title: "Find", Type: flow.FieldText, Required: true, Help: "What to replace."},
			{Name: "replacement", Title: "Replace with", Type: flow.FieldText, Default: "", Help: "The replacement. Leave it empty to delete."},
			{Name: "regex", Title: "Regular expression", Type: flow.FieldBoolean, Typed: true, Default: false, Help: "Find is a pattern, such as [0-9]+."},
			{Name: "ignore_case", Title: "Ignore case", Type: flow.FieldBoolean, Typed: true, Default: false, Help: "Uppercase and lowercase letters match each other."},
			{Name: "first_only", Title: "Only the first", Type: flow.FieldBoolean, Typed: true, More: true, Default: false, Help: "Replaces only the first occurrence."},
		},
		Outputs: []flow.Port{
			{Name: "text", Title: "Text", Type: flow.TypeText, Help: "The text with the replacements."},
			{Name: "count", Title: "Count", Type: flow.TypeNumber, Help: "Number of replacements."},
		},
		Example: flow.Example{
			Config:  map[string]any{"text": "Order 4711 and order 4712", "find": `order (\d+)`, "replacement": "#$1", "regex": true, "ignore_case": true},
			Outputs: map[string]any{"text": "#4711 and #4712", "count": flow.Number(2)},
		},
		Check: func(n *flow.Node) []flow.Problem {
			if n.Config["regex"] != true {
				return nil
			}
			return checkPattern(n, "find")
		},
		Run: replace,
	}
})

// replace replaces a text or a pattern. The result may have at most flow.MaxTextBytes,
// because a replacement can multiply the size of a text.
func replace(ctx context.Context, in *flow.In) (flow.Out, error) {
	text, find, with := in.Text("text"), in.Text("find"), in.Text("replacement")
	if find == "" {
		return flow.Out{}, flow.Errorf(flow.CodeInputInvalid, "Find is empty. Enter the text to replace.")
	}
	isPattern := in.Config["regex"] == true
	source := find
	if !isPattern {
		source = regexp.QuoteMeta(find)
	}
	p, fault := compilePattern(source, in.Config["ignore_case"] == true)
	if fault != nil {
		return flow.Out{}, fault
	}
	by := literalReplacement(with)
	if isPattern {
		by = parseReplacement(with, p.SubexpNames())
	}
	if err := p.admits(text); err != nil {
		return flow.Out{}, err
	}
	result, count, err := p.replace(ctx, text, by, in.Config["first_only"] == true)
	if err != nil {
		return flow.Out{}, err
	}
	return flow.Out{Outputs: map[string]any{"text": result, "count": flow.Number(count)}}, nil
}

// replace expands the replacement for each match and returns the text and the number
// of matches. It stops when the text grows beyond its limit.
func (p *pattern) replace(ctx context.Context, text string, by replacement, firstOnly bool) (string, int, error) {
	limit := maxMatches + 1
	if firstOnly {
		limit = 1
	}
	matches := p.FindAllStringSubmatchIndex(text, limit)
	if len(matches) > maxMatches {
		return "", 0, errTooManyMatches()
	}
	var b []byte
	end, count := 0, 0
	for _, m := range matches {
		b = append(b, text[end:m[0]]...)
		b = by.appendTo(b, text, m)
		end = m[1]
		if count++; len(b) > flow.MaxTextBytes {
			return "", 0, errTooMuchText()
		}
		if count%1000 == 0 && ctx.Err() != nil {
			return "", 0, ctx.Err()
		}
	}
	b = append(b, text[end:]...)
	if len(b) > flow.MaxTextBytes {
		return "", 0, errTooMuchText()
	}
	return string(b), count, nil
}
