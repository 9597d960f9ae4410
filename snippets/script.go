package snippets

import (
	"encoding/json"
	"regexp"
)

// JavaScript and TypeScript share a template, in which ts writes the type annotations of
// TypeScript.
var (
	javascript = script("javascript", "JavaScript", func(string) string { return "" })
	typescript = script("typescript", "TypeScript", func(types string) string { return types })
)

// script returns JavaScript or TypeScript, which share everything but the types that ts
// adds.
func script(id, name string, ts func(string) string) *language {
	return &language{
		Language: Language{id, name}, template: "script", text: scriptText, body: scriptBody,
		named: map[string]func(string) string{"ts": ts, "key": scriptKey},
	}
}

// scriptBody writes the body as an object, or as JSON text if a number would lose digits as a
// double, the only type of numbers in JavaScript literals.
func scriptBody(fields []field, depth int) string {
	if !fieldsFit(fields, doubleWhole) {
		return concatenate(fields, " + ", scriptText, func(name string) string { return "JSON.stringify(await upload(" + scriptText(name) + "))" })
	}
	return "JSON.stringify(" + asScript.body(fields, depth) + ")"
}

// asScript writes values in JavaScript and TypeScript.
var asScript = &notation{
	object: [2]string{"{ ", " }"}, list: [2]string{"[", "]"}, noObject: "{}", noList: "[]",
	key:  func(name string) string { return scriptKey(name) + ": " },
	null: "null", yes: "true", no: "false", indent: "  ", trailing: true,
	text: scriptText, number: json.Number.String,
	upload: func(name string) string { return "await upload(" + scriptText(name) + ")" },
}

// identifier matches names in ASCII that need no quotes as keys of an object.
var identifier = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// scriptKey writes a key without quotes if possible. __proto__ is written as a computed key,
// because it would otherwise set the prototype.
func scriptKey(name string) string {
	switch {
	case name == "__proto__":
		return `["__proto__"]`
	case identifier.MatchString(name):
		return name
	}
	return scriptText(name)
}

// scriptText quotes a text for JavaScript, whose escapes are \u0041 and \u{1f600}.
func scriptText(s string) string {
	return quote(s, `"`, map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`}, bracedOrShort)
}

// bracedOrShort returns an escape such as \u0041 or, beyond 16 bits, \u{1f600}.
func bracedOrShort(r rune) string {
	if r > 0xffff {
		return bracedEscape(r)
	}
	return utf16Escape(r)
}
