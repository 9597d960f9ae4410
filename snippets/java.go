package snippets

import "strings"

// java renders a Java program. The body is JSON text, because the standard library has
// no JSON.
var java = &language{Language: Language{"java", "Java"}, text: javaText, body: javaBody}

// javaBody is JSON in a text block, since Java's own library has no JSON. The
// values of files take the places of %s.
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

// javaText escapes by number in UTF-16, except for what Java reads before it
// reads literals: \u000a would break the line.
func javaText(s string) string {
	return quote(s, `"`, map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`}, utf16Escape)
}
