package value

import "strings"

// SafeCell puts an apostrophe before a text that spreadsheet programs would read as a formula (OWASP, "CSV injection").
func SafeCell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) && !IsNumber(strings.TrimPrefix(s, "+")) {
		return "'" + s
	}
	return s
}
