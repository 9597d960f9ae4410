package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/flow"
)

const (
	summarySize  = 140 // characters
	summaryItems = 4   // of a list or an object
	summaryDepth = 2   // lists within lists

	maxShownURL = 4 << 20 // bytes; a data URL in a request is shorter
)

// Summary is what inputs begin with, in one line: of a single input the value
// alone, of several each with its name. It is for recognizing a run in a list,
// and does not read more of large inputs than it shows.
func Summary(inputs map[string]any) string {
	if len(inputs) == 1 {
		for _, v := range inputs {
			return cutText(summarizeValue(v, 0), summarySize)
		}
	}
	return cutText(strings.Join(summarizeFields(inputs, 0), " · "), summarySize)
}

// summarizeValue writes a value in a few words. It is stored with the run and shown in
// lists, so it stays small.
func summarizeValue(v any, depth int) string {
	switch v := v.(type) {
	case string:
		if f, ok := flow.RemoteFileOf(v); ok && len(v) <= maxShownURL && !strings.ContainsAny(f.URL, " \t\r\n") {
			return oneLine(f.Shown()) // whether it is the URL of a file is not known here
		}
		return oneLine(v)
	case []any:
		return "[" + summarizeList(v, depth+1) + "]"
	case map[string]any:
		if _, ok := v["file"].(string); ok {
			return oneLine(fmt.Sprint(v["name"]))
		}
		if f, ok := flow.RemoteFileOf(v); ok {
			return oneLine(f.Shown())
		}
		if _, ok := flow.SecretInput(v); ok {
			return flow.Redacted
		}
		if depth == summaryDepth {
			return "{…}"
		}
		return "{" + strings.Join(summarizeFields(v, depth+1), ", ") + "}"
	}
	return string(flow.EncodeJSON(v))
}

// summarizeFields returns the first summaryItems members of an object in the order of
// their names, each as "name: value".
func summarizeFields(fields map[string]any, depth int) (texts []string) {
	for i, name := range slices.Sorted(maps.Keys(fields)) {
		if i == summaryItems {
			return append(texts, "…")
		}
		texts = append(texts, oneLine(name)+": "+summarizeValue(fields[name], depth))
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

// oneLine is the beginning of a text with its white space made single.
func oneLine(text string) string {
	if limit := 8 * summarySize; len(text) > limit {
		text = text[:limit]
	}
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "")
	return cutText(strings.Join(strings.Fields(text), " "), summarySize)
}

// cutText shortens a text to n characters; the last one is then an ellipsis.
func cutText(text string, size int) string {
	letters := []rune(text)
	if len(letters) <= size {
		return text
	}
	return string(letters[:size-1]) + "…"
}
