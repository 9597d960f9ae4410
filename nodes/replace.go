package nodes

import (
	"context"
	"regexp"
	"strings"

	"sluice/flow"
	"sluice/flow/pattern"
)

// The replace kind replaces parts of a text.
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "replace", Title: "Replace", Group: groupText, Icon: "replace", Class: flow.Compute,
		Summary: "Replaces parts of a text.",
		Doc: "Replaces every occurrence of *Find* in the text. With *Regular expression*, *Find* is a pattern of RE2, and `$1` or `${name}` in the " +
			"replacement stands for a group, and `$0` for the whole match; write `$$` for a dollar sign. A group that the pattern does not have is plain text, such as the `$5` of a price. RE2 has no lookaheads and no backreferences, so no pattern " +
			"can take forever; a pattern that reads a long text again for each match fails.",
		Fields: []flow.Field{
			{Name: "text", Title: "Text", Type: flow.FieldArea, Template: true, Required: true, Help: "The text to change."},
			{Name: "find", Title: "Find", Type: flow.FieldText, Required: true, Help: "What to replace."},
			{Name: "replacement", Title: "Replace with", Type: flow.FieldText, Default: "", Help: "The replacement. Leave it empty to delete."},
			{Name: "regex", Title: "Regular expression", Type: flow.FieldBoolean, Typed: true, Default: false, Help: "Find is a pattern, such as [0-9]+."},
			{Name: "ignore_case", Title: "Ignore case", Type: flow.FieldBoolean, Typed: true, Default: false, Help: "Upper and lower case match."},
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
	isPattern, ignoreCase, firstOnly := in.Config["regex"] == true, in.Config["ignore_case"] == true, in.Config["first_only"] == true
	if !isPattern && !ignoreCase {
		return replaceText(text, find, with, firstOnly)
	}
	source := find
	if !isPattern {
		source = regexp.QuoteMeta(find)
	}
	p, fault := compilePattern(source, ignoreCase)
	if fault != nil {
		return flow.Out{}, fault
	}
	by := pattern.LiteralReplacement(with)
	if isPattern {
		by = pattern.ParseReplacement(with, p.GroupNames())
	}
	budget, release := patternBudget(ctx, in, len(text))
	defer release()
	result, count, err := replaceMatches(budget, p, text, by, firstOnly)
	if err != nil {
		return flow.Out{}, patternError(err, len(text))
	}
	return flow.Out{Outputs: map[string]any{"text": result, "count": flow.Number(count)}}, nil
}

// replaceText replaces a plain text.
func replaceText(text, find, with string, firstOnly bool) (flow.Out, error) {
	count := strings.Count(text, find)
	if firstOnly {
		count = min(count, 1)
	}
	if len(text)+count*(len(with)-len(find)) > flow.MaxTextBytes {
		return flow.Out{}, errTooMuchText()
	}
	return flow.Out{Outputs: map[string]any{"text": strings.Replace(text, find, with, count), "count": flow.Number(count)}}, nil
}

// replaceMatches expands the replacement for each match and returns the text and the number
// of matches. It stops when the text grows beyond its limit.
func replaceMatches(budget *pattern.Budget, p *pattern.Pattern, text string, by pattern.Replacement, firstOnly bool) (string, int, error) {
	var b []byte
	end, count := 0, 0
	for m, err := range p.Matches(budget, text) {
		if err != nil {
			return "", 0, err
		}
		if count++; count > maxMatches {
			return "", 0, errTooManyMatches()
		}
		b = append(b, text[end:m[0]]...)
		b = by.AppendTo(b, text, m)
		if end = m[1]; len(b) > flow.MaxTextBytes {
			return "", 0, errTooMuchText()
		}
		if firstOnly {
			break
		}
	}
	b = append(b, text[end:]...)
	if len(b) > flow.MaxTextBytes {
		return "", 0, errTooMuchText()
	}
	return string(b), count, nil
}
