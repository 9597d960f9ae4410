package snippets

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// golang renders a Go program.
var golang = &language{
	Language: Language{"go", "Go"}, text: goText,
	body: func(fields []field, depth int) string { return asGo.body(fields, depth) },
}

// asGo writes values in Go, aligned as gofmt would.
var asGo = &notation{
	object: [2]string{"map[string]any{", "}"}, list: [2]string{"[]any{", "}"}, noObject: "map[string]any{}", noList: "[]any{}",
	key:  func(name string) string { return goText(name) + ": " },
	null: "nil", yes: "true", no: "false", indent: "\t", trailing: true,
	align: alignLikeGofmt, text: goText,
	number: func(n json.Number) string {
		if keeps(n, int64Whole) {
			return strings.ToLower(n.String()) // gofmt writes 1e5 for 1E5
		}
		return "json.Number(" + goText(n.String()) + ")"
	},
	upload: func(name string) string { return "upload(" + goText(name) + ")" },
}

// goText quotes a text for Go.
func goText(s string) string { return strconv.Quote(strings.ToValidUTF8(s, "\uFFFD")) }

// alignLikeGofmt pads keys so that the values of consecutive lines start in one
// column. Formatting with go/format would add 0.5 MB to the binary; a test
// compares the results. The rules are those of exprList in go/printer: a value
// of several lines ends a column, and so does a change from or to a key of more
// than 40 bytes unless its length is within a factor of 2.5 of the geometric
// mean of the keys before it in the column.
func alignLikeGofmt(members []member) {
	const small, factor = 40, 2.5
	start, before, logSum, count := 0, 0, 0.0, 0.0
	for i, m := range members {
		size := len(strings.TrimSuffix(m.key, ": "))
		if strings.Contains(m.value, "\n") {
			size = 0
		}
		joins := before > 0 && size > 0
		if joins && max(before, size) > small {
			ratio := float64(size) / math.Exp(logSum/count)
			joins = ratio < factor && ratio > 1/factor
		}
		if !joins {
			padKeys(members[start:i])
			start, logSum, count = i, 0, 0
		}
		if size > 0 {
			logSum += math.Log(float64(size))
			count++
		}
		before = size
	}
	padKeys(members[start:])
}

// padKeys pads keys to the same width, since gofmt aligns the values after them.
func padKeys(members []member) {
	width := 0
	for _, m := range members {
		width = max(width, utf8.RuneCountInString(m.key))
	}
	for i := range members {
		members[i].key += strings.Repeat(" ", width-utf8.RuneCountInString(members[i].key))
	}
}
