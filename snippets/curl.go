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

// shellText is a word of a shell in which nothing is special: not even a
// backslash, so that a quote ends the word, stands alone and begins another.
func shellText(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "\x00", ""), "'", `'\''`) + "'"
}
