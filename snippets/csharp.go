package snippets

import (
	"encoding/json"
)

// csharp renders a C# program. Bodies are JsonObject and JsonArray: unlike arrays of C#, they
// accept null and values of different types.
var csharp = &language{
	Language: Language{"csharp", "C#"}, text: csharpText,
	body: func(fields []field, depth int) string { return asCSharp.body(fields, depth) },
}

// asCSharp writes values in C#. Numbers that do not fit a long or double are parsed as JSON.
var asCSharp = &notation{
	object: [2]string{"new JsonObject { ", " }"}, list: [2]string{"new JsonArray { ", " }"}, noObject: "new JsonObject()", noList: "new JsonArray()",
	key:  func(name string) string { return "[" + csharpText(name) + "] = " },
	null: "null", yes: "true", no: "false", indent: "    ", trailing: true,
	text: csharpText,
	number: func(n json.Number) string {
		if fitsNumber(n, int64Whole) {
			return n.String()
		}
		return "JsonNode.Parse(" + csharpText(n.String()) + ")"
	},
	upload: func(name string) string { return "await Upload(" + csharpText(name) + ")" },
}

// csharpText quotes a text for C#, whose escapes are \u0041 and \U0001f600.
func csharpText(s string) string {
	return quote(s, `"`, map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`}, longEscape)
}
