package snippets

import (
	"encoding/json"
	"go/format"
	"strconv"
	"strings"
)

var golang = &language{
	Language: Language{"go", "Go"}, text: goText,
	body: func(fields []field, depth int) string { return asGo.body(fields, depth) },
	// gofmt aligns what stands in columns, by rules of its own.
	finish: func(code string) (string, error) {
		out, err := format.Source([]byte(code))
		return string(out), err
	},
}

var asGo = &notation{
	object: [2]string{"map[string]any{", "}"}, list: [2]string{"[]any{", "}"}, noObject: "map[string]any{}", noList: "[]any{}",
	key:  func(name string) string { return goText(name) + ": " },
	null: "nil", yes: "true", no: "false", indent: "\t", trailing: true,
	text: goText,
	number: func(n json.Number) string {
		if keeps(n, int64Whole) {
			return n.String()
		}
		return "json.Number(" + goText(n.String()) + ")"
	},
	upload: func(name string) string { return "upload(" + goText(name) + ")" },
}

func goText(s string) string { return strconv.Quote(strings.ToValidUTF8(s, "\uFFFD")) }
