package contract

import (
	"fmt"
	"iter"
	"strings"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/flow/wording"
)

const (
	summaryLength = 140 // characters
	summaryItems  = 4   // of a list or an object
	summaryDepth  = 2   // lists within lists

	maxShownURL = 4 << 20 // bytes; a data URL in a request is shorter
)

// Summary returns the beginning of a run's inputs in one line, by which users recognize
// the run in a list: only the value of a single input, otherwise names and values. It
// reads only the beginning of large inputs.
func Summary(inputs *flow.Object) string {
	if inputs.Len() == 1 {
		for _, v := range inputs.All() {
			return wording.Fit(summarizeValue(v, 0), summaryLength)
		}
	}
	return wording.Fit(strings.Join(summarizeFields(inputs.All(), 0), " · "), summaryLength)
}

// summarizeValue writes a value in a few words. It is stored with the run and shown in
// lists, so it stays small.
func summarizeValue(v any, depth int) string {
	switch v := v.(type) {
	case string:
		if f, ok := flow.RemoteFileOf(v); ok && len(v) <= maxShownURL && !strings.ContainsAny(f.URL, " \t\r\n") {
			return summaryLine(f.Shown()) // it may be the URL of a file: the input's type is unknown here
		}
		return summaryLine(v)
	case []any:
		return "[" + summarizeList(v, depth+1) + "]"
	case *flow.Object, map[string]any:
		if _, ok := value.Get(v, "file").(string); ok {
			return summaryLine(fmt.Sprint(value.Get(v, "name")))
		}
		if f, ok := flow.RemoteFileOf(v); ok {
			return summaryLine(f.Shown())
		}
		if _, ok := flow.SecretInput(v); ok {
			return flow.Redacted
		}
		if depth == summaryDepth {
			return "{…}"
		}
		return "{" + strings.Join(summarizeFields(value.Members(v), depth+1), ", ") + "}"
	}
	return string(flow.EncodeJSON(v))
}

// summarizeFields returns the first summaryItems members of an object, each as "name: value".
func summarizeFields(fields iter.Seq2[string, any], depth int) (texts []string) {
	for name, v := range fields {
		if len(texts) == summaryItems {
			return append(texts, "…")
		}
		texts = append(texts, summaryLine(name)+": "+summarizeValue(v, depth))
	}
	return texts
}

// summarizeList joins the first summaryItems items of a list. Lists deeper than
// summaryDepth are shown as an ellipsis.
func summarizeList(items []any, depth int) string {
	if depth > summaryDepth {
		return "…"
	}
	var texts []string
	for i, v := range items {
		if i == summaryItems {
			texts = append(texts, "…")
			break
		}
		texts = append(texts, summarizeValue(v, depth))
	}
	return strings.Join(texts, ", ")
}

// summaryLine returns the beginning of a text with runs of white space collapsed.
func summaryLine(text string) string {
	if limit := 8 * summaryLength; len(text) > limit {
		text = text[:limit]
	}
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "")
	return wording.Fit(wording.OneLine(text), summaryLength)
}
