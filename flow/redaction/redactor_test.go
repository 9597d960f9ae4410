package redaction

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/flowtest"
)

func TestRedactor(t *testing.T) {
	t.Parallel()
	const secret = `sk-"quoted"/and+more`
	quoted := string(flow.EncodeJSON(secret))
	r := New(secret, "abc", "sk-second-one")
	tests := []struct{ name, text, want string }{
		{"as it is", "key " + secret + " is wrong", "key [secret] is wrong"},
		{"twice", secret + secret, "[secret][secret]"},
		{"inside JSON", `{"key": ` + quoted + `}`, `{"key": "[secret]"}`},
		{"inside a URL", "?key=" + url.QueryEscape(secret), "?key=[secret]"},
		{"in base64", "Basic " + base64.StdEncoding.EncodeToString([]byte(secret)), "Basic [secret]"},
		{"several", secret + " and sk-second-one", "[secret] and [secret]"},
		{"too short to look for", "abcdef", "abcdef"},
		{"nothing to hide", "all is well", "all is well"},
	}
	for _, tt := range tests {
		if got := r.Text(tt.text); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestRedactorFindsEveryForm: a service may show what it was sent in its own way.
func TestRedactorFindsEveryForm(t *testing.T) {
	t.Parallel()
	const secret = "k?y/with+all 7~<>_\"é"
	quoted := string(flow.EncodeJSON(secret))
	html, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]string{
		"raw": secret, "JSON": quoted, "JSON for HTML": string(html), "JSON of PHP": strings.ReplaceAll(quoted, "/", `\/`),
		"query": url.QueryEscape(secret), "query, lower case": strings.ToLower(url.QueryEscape(secret)), "path": url.PathEscape(secret),
		"hex": hex.EncodeToString([]byte(secret)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(secret))),
	}
	for _, before := range []string{"", "Bearer ", "bearer ", "Basic ", "user:", "a longer user name:", "{\"token\":\""} {
		for name, encoding := range map[string]*base64.Encoding{"std": base64.StdEncoding, "raw": base64.RawStdEncoding, "url": base64.URLEncoding, "raw url": base64.RawURLEncoding} {
			for _, after := range []string{"", "!", "\n\n", "\"}"} {
				forms[name+" base64 of "+before+"…"+after] = encoding.EncodeToString([]byte(before + secret + after))
			}
		}
		forms["hex of "+before] = hex.EncodeToString([]byte(before + secret))
	}
	for _, stored := range []string{secret, "Bearer " + secret} {
		r := New(stored)
		for name, form := range forms {
			got := r.Text("it says " + form + " there")
			if !strings.Contains(got, flow.Redacted) || strings.Contains(got, form) || strings.Contains(got, secret[4:]) {
				t.Errorf("%s, stored as %q: %q", name, stored, got)
			}
			// The remaining text must not reveal the secret: at most one character at
			// each end of it belongs to the secret.
			if len(strings.ReplaceAll(got, flow.Redacted, "")) > len("it says ")+len(" there")+len(form)-len(secret) {
				t.Errorf("%s, stored as %q, leaves %q", name, stored, got)
			}
		}
	}
	basic := New("Basic " + base64.StdEncoding.EncodeToString([]byte("ada:correct horse")))
	for _, echo := range []string{"ada:correct horse", `"password": "correct horse"`, base64.StdEncoding.EncodeToString([]byte("ada:correct horse"))} {
		if got := basic.Text(echo); !strings.Contains(got, flow.Redacted) || strings.Contains(got, "horse") {
			t.Errorf("%q: %q", echo, got)
		}
	}
	plain := "SGVsbG8gd29ybGQsIHRoaXMgaXMgbm90aGluZw== 6b65790a k?y with all"
	if got := New(secret).Text(plain); got != plain {
		t.Errorf("harmless text became %q", got)
	}
}

// TestRedactor_bounds_work proves that a long secret is found, and that looking for it in a text
// that is like it takes little time.
func TestRedactor_bounds_work(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("a", 500_000) + strings.Repeat("bc", 1000)
	r := New(secret)
	flowtest.CheckCPU(t, func() { r.Text(strings.Repeat("a", 1<<20)) })
	if got := r.Text("x " + secret + " y"); strings.Contains(got, "a") || strings.Contains(got, "b") || !strings.HasPrefix(got, "x ") || !strings.HasSuffix(got, " y") {
		t.Errorf("got %.100q", strings.ReplaceAll(got, flow.Redacted, ""))
	}
}
