package flow

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTemplate_renders_values(t *testing.T) {
	t.Parallel()
	values := map[string]any{
		"name": "Ann", "n": json.Number("1.50"), "yes": true, "nothing": nil, "list": []any{"a", json.Number("2")},
		"deep": map[string]any{"er": map[string]any{"est": "x"}}, "trick": "{{name}}", "quote": `say "hi" \ ` + "\n",
	}
	tests := []struct {
		name, template string
		escape         Escape
		want           string
	}{
		{"text", "Hello {{name}}!", EscapeNone, "Hello Ann!"},
		{"spaces inside", "{{ name }}", EscapeNone, "Ann"},
		{"number, boolean, null", "{{n}} {{yes}} [{{nothing}}]", EscapeNone, "1.50 true []"},
		{"list and object as JSON", "{{list}} {{deep}}", EscapeNone, `["a",2] {"er":{"est":"x"}}`},
		{"path", "{{deep.er.est}} {{list.1}}", EscapeNone, "x 2"},
		{"literal braces", `\{{name}} {{name}}`, EscapeNone, "{{name}} Ann"},
		{"single braces", "{name} }} }", EscapeNone, "{name} }} }"},
		{"a value is no template", "{{trick}}", EscapeNone, "{{name}}"},
		{"nothing to fill in", "plain", EscapeNone, "plain"},
		{"empty", "", EscapeNone, ""},
		{"URL", "https://e.com/{{quote}}?q={{name}}", EscapeURL, "https://e.com/say%20%22hi%22%20%5C%20%0A?q=Ann"},
		{"JSON text", `{"a": "{{quote}}!"}`, EscapeJSON, `{"a": "say \"hi\" \\ \n!"}`},
		{"JSON value", `{"a": {{quote}}, "b": {{list}}, "c": {{nothing}}}`, EscapeJSON, `{"a": "say \"hi\" \\ \n", "b": ["a",2], "c": null}`},
		{"JSON after an escaped quote", `["\"{{name}}", {{n}}]`, EscapeJSON, `["\"Ann", 1.50]`},
		{"no JSON", `Dear {{quote}}`, EscapeJSON, "Dear say \"hi\" \\ \n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tpl, err := ParseTemplate(tt.template)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := tpl.Render(values, tt.escape); err != nil || got != tt.want {
				t.Errorf("got %q %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestTemplate_reports_place_of_error(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{{":       `"{{" at character 1`,
		"a {{b c}": `"{{b c}" at character 3`,
		"é {{1}}":  `"{{1" at character 3`,
		"{{a..b}}": "is not a place", "{{}}": "is not a place", "{{a.}}": "is not a place", "{{{a}}}": "is not a place",
	} {
		if _, err := ParseTemplate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	values := map[string]any{"a": map[string]any{"b": nil}, "l": []any{}, "s": "text", "big": strings.Repeat("x", MaxTextBytes/2)}
	for text, want := range map[string]string{
		"{{gone}}":         "{{gone}} has no value",
		"{{a.c}}":          `{{a.c}}: a is an object without "c"`,
		"{{a.b.c}}":        `{{a.b.c}}: a.b is a null without "c"`,
		"{{l.0}}":          `{{l.0}}: l is a list without "0"`,
		"{{l.-1}}":         `without "-1"`,
		"{{s.x}}":          `{{s.x}}: s is a text without "x"`,
		"{{big}}{{big}}xx": "grows beyond 16 MiB",
	} {
		tpl, err := ParseTemplate(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tpl.Render(values, EscapeNone); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// FuzzTemplate checks that rendering never panics, never parses values as templates, and keeps
// JSON text valid.
func FuzzTemplate(f *testing.F) {
	f.Add("Hello {{a}} {{b.c}} \\{{", `"}}{{a}}`)
	f.Add(`{"a": "{{a}}", "b": {{b}}}`, "\\\" \n\u2028\x00")
	f.Add(`["\\{{a}}"]`, `\`)
	f.Fuzz(func(t *testing.T, text, value string) {
		if !utf8.ValidString(text) || !utf8.ValidString(value) {
			t.Skip()
		}
		tpl, err := ParseTemplate(text)
		if err != nil {
			return
		}
		values, marks := map[string]any{}, map[string]any{}
		for _, name := range tpl.Names() {
			values[name], marks[name] = value, "\x01"
		}
		got, err := tpl.Render(values, EscapeNone)
		marked, _ := tpl.Render(marks, EscapeNone)
		if err == nil && !strings.Contains(text, "\x01") && got != strings.ReplaceAll(marked, "\x01", value) {
			t.Errorf("%q with %q gave %q", text, value, got)
		}
		if _, err := url.PathUnescape(value); len(tpl.parts) == 1 && len(tpl.Names()) == 1 && err == nil {
			s, err := tpl.Render(values, EscapeURL)
			if back, bad := url.PathUnescape(s); err == nil && (bad != nil || back != value || strings.ContainsAny(s, " /?#&=+\"{}")) {
				t.Errorf("%q in a URL is %q", value, s)
			}
		}
		wantValidJSON(t, tpl, values, marks)
	})
}

// wantValidJSON checks that all values give valid JSON if harmless values do.
func wantValidJSON(t *testing.T, tpl *Template, values, marks map[string]any) {
	for name := range marks {
		marks[name] = "x"
	}
	if !tpl.looksLikeJSON() {
		return
	}
	harmless, err := tpl.Render(marks, EscapeJSON)
	if err != nil || !json.Valid([]byte(harmless)) {
		return
	}
	got, err := tpl.Render(values, EscapeJSON)
	if err != nil || !json.Valid([]byte(got)) {
		t.Errorf("%v: %s", err, got)
	}
}

func TestValidKeyText_rejects_changed_keys(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		s := NewKeyText()
		if !ValidKeyText(s) || len(s) != 40 || seen[s] {
			t.Fatal(s)
		}
		seen[s] = true
		changed := []byte(s)
		if changed[10]++; ValidKeyText(string(changed)) {
			t.Errorf("%s is accepted for %s", changed, s)
		}
		for _, bad := range []string{s[1:], s + "0", s[:39], strings.ToUpper(s), " " + s, s[:39] + "!"} {
			if ValidKeyText(bad) {
				t.Errorf("%s is accepted for %s", bad, s)
			}
		}
	}
}

// FuzzKeyText checks that ValidKeyText never panics and accepts only secrets of keys.
func FuzzKeyText(f *testing.F) {
	f.Add(NewKeyText())
	f.Add("slu_" + strings.Repeat("0", 36))
	f.Fuzz(func(t *testing.T, s string) {
		if !ValidKeyText(s) {
			return
		}
		rest := strings.TrimPrefix(s, "slu_")
		if len(s) != 40 || len(rest) != 36 || strings.Trim(rest, base62) != "" || checksum(rest[:30]) != rest[30:] {
			t.Error(s)
		}
	})
}

// FuzzHost checks that a valid host has one canonical form, which matches the same host in a URL
// and no other.
func FuzzHost(f *testing.F) {
	for _, s := range []string{"api.example.com", "API.example.com.:8443", "*.example.com", "[2001:db8::7]:8443", "192.0.2.7:1", "bücher.example", "*.com", "a..b", "0x7f.1", "a:b:c", "https://a/b", "\x00", "[::1%25lo]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		host, err := ParseHost(text)
		if err != nil {
			return
		}
		again, err := ParseHost(host)
		if err != nil || again != host {
			t.Fatalf("%q is %q, which is %q: %v", text, host, again, err)
		}
		if strings.ContainsAny(host, " /?#@\\\x00\r\n") || host != strings.ToLower(host) {
			t.Errorf("%q is %q", text, host)
		}
		if strings.HasPrefix(host, "*.") {
			if name, _, _ := SplitHost(host[2:]); HostAllowed([]string{host}, name) || !HostAllowed([]string{host}, "a."+host[2:]) {
				t.Errorf("%q does not cover exactly what is below it", host)
			}
			return
		}
		if !HostAllowed([]string{host}, host) || HostAllowed([]string{host}, "evil-"+host) {
			t.Errorf("%q does not cover exactly itself", host)
		}
		if strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") {
			host = "[" + host + "]"
		}
		if u, err := url.Parse("https://" + host + "/"); err != nil || BoundHost(u) != again || !HostAllowed([]string{again}, HostPort(u)) {
			t.Errorf("%q in a URL: %v", again, err)
		}
	})
}

// FuzzSecretText checks that a text is split into references and literal text without loss, and
// that JSON stays valid with any secret.
func FuzzSecretText(f *testing.F) {
	f.Add("Bearer {{credential:token}}!", `a"b\`)
	f.Add("{{ credential: a.b }}{{credential:}}{{credential:x}}", "\x00")
	f.Add(`{"key": {"credential": "token"}, "b": "x {{credential:token}}"}`, "\" \n\u2028")
	f.Fuzz(func(t *testing.T, text, secret string) {
		if !utf8.ValidString(text) || !utf8.ValidString(secret) {
			t.Skip()
		}
		parsed := ParseSecretText(text)
		if (parsed == nil) != (credentialPlace.FindStringIndex(text) == nil) {
			t.Errorf("%q gives %v", text, parsed)
		}
		secrets := map[string]string{}
		for _, name := range parsed.Credentials() {
			if !credentialRefName.MatchString(name) {
				t.Errorf("%q references %q", text, name)
			}
			secrets[name] = CredentialText(name)
		}
		if got := mustFill(t, parsed, secrets); parsed != nil && got != parsed.String() {
			t.Errorf("%q is %q, filled in %q", text, parsed.String(), got)
		}
		tpl, err := ParseTemplate(WithPlaceholders(text))
		if err != nil || !tpl.HasCredentials() || len(tpl.Names()) > 0 {
			return
		}
		rendered, err := tpl.RenderSecret(nil, EscapeJSON)
		if err != nil {
			return
		}
		for _, name := range rendered.Credentials() {
			secrets[name] = "x"
		}
		harmless := mustFill(t, rendered, secrets)
		for name := range secrets {
			secrets[name] = secret
		}
		if filled := mustFill(t, rendered, secrets); tpl.looksLikeJSON() && json.Valid([]byte(harmless)) && !json.Valid([]byte(filled)) {
			t.Errorf("%q with %q is %q", text, secret, filled)
		}
	})
}

func mustFill(t *testing.T, text SecretText, secrets map[string]string) string {
	t.Helper()
	filled, err := text.Fill(secrets)
	if err != nil {
		t.Fatal(err)
	}
	return filled
}
