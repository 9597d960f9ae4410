package snippets

import "encoding/json"

// python renders a Python program that needs only the standard library.
var python = &language{
	Language: Language{"python", "Python"}, text: pythonText,
	body: func(fields []field, depth int) string {
		if !fieldsFit(fields, anyWhole) {
			return "(" + concatenate(fields, " + ", pythonText, func(name string) string { return "json.dumps(upload(" + pythonText(name) + "))" }) + ")"
		}
		return "json.dumps(" + asPython.body(fields, depth) + ")"
	},
}

// asPython writes values in Python, whose dictionaries and lists look like JSON except for
// None, True and False.
var asPython = &notation{
	object: [2]string{"{", "}"}, list: [2]string{"[", "]"}, noObject: "{}", noList: "[]",
	key:  func(name string) string { return pythonText(name) + ": " },
	null: "None", yes: "True", no: "False", indent: "    ", trailing: true,
	text: pythonText, number: json.Number.String,
	upload: func(name string) string { return "upload(" + pythonText(name) + ")" },
}

// pythonText quotes a text for Python, whose escapes are \u0041 and \U0001f600.
func pythonText(s string) string {
	return quote(s, `"`, map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`}, longEscape)
}
