package snippets

import "strings"

// curl renders a shell script. The body is one argument of quoted JSON text and command
// substitutions for uploads, written without spaces between them.
var curl = &language{
	Language: Language{"curl", "cURL"}, text: shellText,
	body: func(fields []field, _ int) string {
		return concatenate(fields, "", shellText, func(name string) string { return `"$(upload ` + shellText(name) + `)"` })
	},
}

// shellText quotes a text for a shell with single quotes. A backslash is not special inside
// them, so a single quote is written outside of them, as an escaped character.
func shellText(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "\x00", ""), "'", `'\''`) + "'"
}
