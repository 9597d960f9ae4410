package snippets

import (
	"encoding/json"
	"regexp"
)

var ruby = &language{Language: Language{"ruby", "Ruby"}, text: rubyText, body: rubyBody}

func rubyBody(fields []field, depth int) string {
	if !allHold(fields, anyWhole) {
		return concatenate(fields, " + ", rubyText, func(name string) string { return "upload(" + rubyText(name) + ").to_json" })
	}
	return "JSON.generate(" + asRuby.body(fields, depth) + ")"
}

var asRuby = &notation{
	object: [2]string{"{ ", " }"}, list: [2]string{"[", "]"}, noObject: "{}", noList: "[]",
	key:  func(name string) string { return rubyText(name) + " => " },
	null: "nil", yes: "true", no: "false", indent: "  ", trailing: true,
	text: rubyText, number: json.Number.String,
	upload: func(name string) string { return "upload(" + rubyText(name) + ")" },
}

var interpolation = regexp.MustCompile(`#([{$@])`)

// rubyText escapes what would begin #{…}, #$… and #@….
func rubyText(s string) string {
	literal := quote(s, `"`, map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`}, bracedEscape)
	return interpolation.ReplaceAllString(literal, `\#$1`)
}
