package snippets

import "strings"

// java renders a Java program. The body is JSON text, because the standard library has
// no JSON.
var java = &language{Language: Language{"java", "Java"}, text: javaText, body: javaBody}

// javaBody writes the body as JSON in a text block, since Java's standard library has no JSON
// support. The values of files replace %s.
func javaBody(fields []field, _ int) string {
	const pad = "\n            "
	parts := pieces(fields, 0)
	var text, values []string
	for i, p := range parts {
		if i%2 == 1 {
			text, values = append(text, "%s"), append(values, "upload("+javaText(p)+")")
			continue
		}
		p = strings.NewReplacer(`\`, `\\`, `"""`, `\"""`).Replace(p)
		if len(parts) > 1 {
			p = strings.ReplaceAll(p, "%", "%%")
		}
		text = append(text, p)
	}
	block := `"""` + pad + strings.ReplaceAll(strings.Join(text, ""), "\n", pad) + `"""`
	if len(values) > 0 {
		block += ".formatted(" + strings.Join(values, ", ") + ")"
	}
	return block
}

// javaText quotes a text for Java with UTF-16 escapes. Java processes them before it parses
// literals, so line breaks and quotes need other escapes: \u000a would break the line.
func javaText(s string) string {
	return quote(s, `"`, map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`}, utf16Escape)
}
