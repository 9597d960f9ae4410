package snippets

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
)

// php renders a PHP program that needs the curl extension.
var php = &language{Language: Language{"php", "PHP"}, text: phpText, body: phpBody}

// phpBody writes the body as an array, or as JSON text if a number would lose digits in
// PHP.
func phpBody(fields []field, depth int) string {
	if !fieldsFit(fields, int64Whole) {
		return concatenate(fields, " . ", phpText, func(name string) string { return "json_encode(upload(" + phpText(name) + "))" })
	}
	return "json_encode(" + asPHP.body(fields, depth) + ")"
}

// asPHP writes values in PHP. json_encode would make [] of an empty array, so an empty object
// is a stdClass.
var asPHP = &notation{
	object: [2]string{"[", "]"}, list: [2]string{"[", "]"}, noObject: "new stdClass()", noList: "[]",
	key:  func(name string) string { return phpText(name) + " => " },
	null: "null", yes: "true", no: "false", indent: "    ", trailing: true,
	text: phpText, number: json.Number.String,
	upload: func(name string) string { return "upload(" + phpText(name) + ")" },
	// Numeric names would turn the array into a list.
	cast: func(names []string) string {
		for _, name := range names {
			if numeric.MatchString(name) {
				return "(object) "
			}
		}
		return ""
	},
}

// numeric matches keys that PHP may convert to integers.
var numeric = regexp.MustCompile(`^-?[0-9]+$`)

// phpText quotes a text for PHP: in single quotes, where only \ and ' are special, or in double
// quotes if it has invisible characters, which need escapes.
func phpText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return quote(s, `"`, map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`, '$': `\$`}, bracedEscape)
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
