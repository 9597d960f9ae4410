package redaction

import (
	"encoding/base64"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"

	"sluice/flow"
)

// escapeAny escapes one character in one of the ways that services use.
func escapeAny(r *rand.Rand, c rune) string {
	percent := func(format string) string {
		var b strings.Builder
		for _, x := range []byte(string(c)) {
			fmt.Fprintf(&b, format, x)
		}
		return b.String()
	}
	utf16Escape := func(format string) string {
		var b strings.Builder
		for _, x := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&b, format, x)
		}
		return b.String()
	}
	switch r.IntN(9) {
	case 0:
		return percent("%%%02X")
	case 1:
		return percent("%%%02x")
	case 2:
		return percent("%%25%02x")
	case 3:
		return utf16Escape(`\u%04x`)
	case 4:
		return utf16Escape(`\u%04X`)
	case 5:
		return fmt.Sprintf("&#%d;", c)
	case 6:
		return fmt.Sprintf("&#x%X;", c)
	case 7:
		if strings.ContainsRune(`"/\`, c) {
			return `\` + string(c)
		}
		return html.EscapeString(string(c))
	}
	if strings.ContainsRune(`\%&`, c) { // would begin an escape
		return percent("%%%02x")
	}
	return string(c)
}

// TestRedactor_finds_any_escapes escapes each character of secrets in a random way.
func TestRedactor_finds_any_escapes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	secrets := []string{"k?y/with+all 7~<>_\"é&'", "sk-proj-abcdefgh", `back\slash\and%percent`, "päss😀wörd/x"}
	for _, secret := range secrets {
		redactor := New(secret)
		for range 500 {
			var b strings.Builder
			for _, c := range secret {
				b.WriteString(escapeAny(r, c))
			}
			text := "it says " + b.String() + ", there"
			if got := redactor.Text(text); got != "it says [secret], there" {
				t.Fatalf("%q gave %q", text, got)
			}
			checkHeld(t, redactor, text)
		}
	}
}

// checkHeld streams a text in two parts: what is not held back of the first must not contain the
// beginning of the secret.
func checkHeld(t *testing.T, r *Redactor, text string) {
	t.Helper()
	for cut := range len(text) {
		held := r.Held(text[:cut])
		sent := text[:cut-held]
		if got := r.Text(sent) + r.Text(text[cut-held:]); got != "it says [secret], there" {
			t.Fatalf("cut at %d of %q, %d bytes held: %q", cut, text, held, got)
		}
	}
}

func TestRedactor_finds_escapes_of_services(t *testing.T) {
	t.Parallel()
	const secret = "ab/cd+ef=gh ij&kl"
	r := New(secret)
	encoded := base64.StdEncoding.EncodeToString([]byte("\xfb\xff" + secret + "\xff\xef"))
	for name, text := range map[string]string{
		"quote of Python":              "ab/cd%2Bef%3Dgh%20ij%26kl",
		"quote_plus":                   "ab%2Fcd%2Bef%3Dgh+ij%26kl",
		"lower case":                   "ab%2fcd%2bef%3dgh%20ij%26kl",
		"everything":                   "%61%62%2f%63%64%2b%65%66%3d%67%68%20%69%6a%26%6b%6c",
		"JSON of .NET":                 `ab/cd\u002Bef=gh ij\u0026kl`,
		"JSON of PHP":                  `ab\/cd+ef=gh ij&kl`,
		"JSON in JSON":                 `ab\\\/cd\\u002bef=gh ij\\u0026kl`,
		"HTML":                         "ab/cd+ef=gh ij&amp;kl",
		"HTML with references":         "ab&#x2F;cd&#43;ef&#x3d;gh ij&amp;kl",
		"twice in a URL":               "ab%252Fcd%252Bef%253Dgh%2520ij%2526kl",
		"base64 in a URL":              url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(secret))),
		"base64 in JSON with escapes":  strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(secret)), "=", `\u003d`),
		"base64 with slashes, escaped": strings.ReplaceAll(strings.ReplaceAll(encoded, "/", `\/`), "+", "%2B"),
	} {
		got := r.Text("<" + text + ">")
		if !strings.Contains(got, flow.Redacted) || len(strings.ReplaceAll(got, flow.Redacted, "")) > len(text)-len(secret)+8 {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, harmless := range []string{"100% of a/b", `\u0061\u0062 \x`, "a &amp; b &", "ab%2Fcd%2Bxx", "%", `\`, "ab+cd", "&#xffffffffff;"} {
		if got := r.Text(harmless); got != harmless {
			t.Errorf("%q became %q", harmless, got)
		}
	}
}

// BenchmarkRedactorEscapes measures text with many escapes, but without a secret.
func BenchmarkRedactorEscapes(b *testing.B) {
	text := strings.Repeat(`{\"q\": \"100%25 &amp; more\", \"s\": \"sk sk-proj sk-\"}\n`, 1200)
	r := New("Bearer sk-proj-9f86d081884c7d659a2feaa0c55ad015")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if r.Text(text) != text {
			b.Fatal("changed")
		}
	}
}
