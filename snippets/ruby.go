package snippets

import (
	"encoding/json"
	"regexp"
)

// ruby renders a Ruby program that needs only the standard library.
var ruby = &language{Language: Language{"ruby", "Ruby"}, text: rubyText, body: rubyBody}

// rubyBody writes the body as a hash, or as JSON text if a number would lose digits.
func rubyBody(fields []field, depth int) string {
	if !fieldsFit(fields, anyWhole) {
		return concatenate(fields, " + ", rubyText, func(name string) string { return "upload(" + rubyText(name) + ").to_json" })
	}
	return "JSON.generate(" + asRuby.body(fields, depth) + ")"
}

// asRuby writes values in Ruby. Hashes have string keys, which may contain any character.
var asRuby = &notation{
	object: [2]string{"{ ", " }"}, list: [2]string{"[", "]"}, noObject: "{}", noList: "[]",
	key:  func(name string) string { return rubyText(name) + " => " },
	null: "nil", yes: "true", no: "false", indent: "  ", trailing: true,
	text: rubyText, number: json.Number.String,
	upload: func(name string) string { return "upload(" + rubyText(name) + ")" },
}

// interpolation matches the beginnings of expressions that Ruby evaluates in double quotes.
var interpolation = regexp.MustCompile(`#([{$@])`)

// rubyText quotes a text for Ruby and escapes the beginnings of #{…}, #$… and #@….
func rubyText(s string) string {
	literal := quote(s, `"`, map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`}, bracedEscape)
	return interpolation.ReplaceAllString(literal, `\#$1`)
}
