package flow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	gistSize  = 140 // characters
	gistItems = 4   // of a list or an object
	gistDepth = 2   // lists within lists
)

// Gist is what inputs begin with, in one line: of a single input the value
// alone, of several each with its name. It is for recognising a run in a list,
// and does not read more of large inputs than it shows.
func Gist(inputs map[string]any) string {
	if len(inputs) == 1 {
		for _, v := range inputs {
			return cutText(gistOf(v, 0), gistSize)
		}
	}
	return cutText(strings.Join(gistFields(inputs, 0), " · "), gistSize)
}

func gistOf(v any, depth int) string {
	switch v := v.(type) {
	case string:
		return oneLine(v)
	case []any:
		return "[" + gistList(v, depth+1) + "]"
	case map[string]any:
		if _, ok := v["file"].(string); ok {
			return oneLine(fmt.Sprint(v["name"]))
		}
		if depth == gistDepth {
			return "{…}"
		}
		return "{" + strings.Join(gistFields(v, depth+1), ", ") + "}"
	}
	return string(EncodeJSON(v))
}

func gistFields(fields map[string]any, depth int) (texts []string) {
	for i, name := range slices.Sorted(maps.Keys(fields)) {
		if i == gistItems {
			return append(texts, "…")
		}
		texts = append(texts, oneLine(name)+": "+gistOf(fields[name], depth))
	}
	return texts
}

func gistList(items []any, depth int) string {
	if depth > gistDepth {
		return "…"
	}
	var texts []string
	for i, v := range items {
		if i == gistItems {
			texts = append(texts, "…")
			break
		}
		texts = append(texts, gistOf(v, depth))
	}
	return strings.Join(texts, ", ")
}

// oneLine is the beginning of a text with its white space made single.
func oneLine(text string) string {
	if limit := 8 * gistSize; len(text) > limit {
		text = text[:limit]
	}
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "")
	return cutText(strings.Join(strings.Fields(text), " "), gistSize)
}

// cutText shortens a text to so many characters, the last of which then says so.
func cutText(text string, size int) string {
	letters := []rune(text)
	if len(letters) <= size {
		return text
	}
	return string(letters[:size-1]) + "…"
}
