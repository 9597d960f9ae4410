package snippets

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"sluice/flow"
	"sluice/flow/document"
)

// golang renders a Go program that needs only the standard library.
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
		if fitsNumber(n, int64Whole) {
			return strings.ToLower(n.String()) // gofmt writes 1e5 for 1E5
		}
		return "json.Number(" + goText(n.String()) + ")"
	},
	upload: func(name string) string { return "upload(" + goText(name) + ")" },
}

// goText quotes a text for Go. Invalid UTF-8, which JSON cannot carry, is replaced.
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

// padKeys pads keys to the same width in characters, since gofmt aligns the values after them.
func padKeys(members []member) {
	width := 0
	for _, m := range members {
		width = max(width, utf8.RuneCountInString(m.key))
	}
	for i := range members {
		members[i].key += strings.Repeat(" ", width-utf8.RuneCountInString(members[i].key))
	}
}

// goOutputs declares the outputs of a flow as the fields of a Go struct, aligned as gofmt
// would. It returns "" for a flow without outputs or with too many, and if a name is not
// allowed in a struct tag; the snippet then keeps the outputs as JSON.
func goOutputs(outputs []document.Output) string {
	const most = 30
	var fields [][3]string // name, type and tag
	taken := map[string]bool{}
	for _, o := range outputs {
		if strings.ContainsFunc(o.Name, notInTag) || o.Name == "-" {
			return ""
		}
		name := goName(o.Name)
		if taken[name] {
			return ""
		}
		taken[name] = true
		typ, tag := goType(o.Schema), "`json:"+goText(o.Name)+"`"
		if o.Optional && typ != goJSON {
			typ, tag = "*"+typ, "`json:"+goText(o.Name+",omitempty")+"`"
		}
		fields = append(fields, [3]string{name, typ, tag})
	}
	if len(fields) == 0 || len(fields) > most {
		return ""
	}
	var width [2]int
	for _, f := range fields {
		width[0], width[1] = max(width[0], len(f[0])), max(width[1], len(f[1]))
	}
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "\t%-*s %-*s %s\n", width[0], f[0], width[1], f[1], f[2])
	}
	return b.String()
}

// goJSON is the Go type for objects, and for values whose schema is missing or allows several
// types.
const goJSON = "json.RawMessage"

// goType returns the Go type for a JSON Schema. Items of an array may be nested.
func goType(schema map[string]any) string {
	switch schema["type"] {
	case "string":
		return "string"
	case "number":
		return "float64"
	case "integer":
		return "int64"
	case "boolean":
		return "bool"
	case "array":
		items, _ := flow.AsMap(schema["items"])
		return "[]" + goType(items)
	}
	return goJSON
}

// goName makes an exported identifier of the name of an output: "reply-text" is ReplyText.
func goName(output string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(output, func(r rune) bool { return !isASCIILetter(r) && (r < '0' || r > '9') }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	if name := b.String(); name != "" && isASCIILetter(rune(name[0])) {
		return name
	}
	return "Output" + b.String()
}

func isASCIILetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// notInTag reports whether encoding/json does not accept a character in the name of a member.
func notInTag(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r)
}
