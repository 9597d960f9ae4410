package flow

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestRedactor(t *testing.T) {
	t.Parallel()
	const secret = `sk-"quoted"/and+more`
	quoted := string(EncodeJSON(secret))
	r := NewRedactor(secret, "abc", "sk-second-one")
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
	quoted := string(EncodeJSON(secret))
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
		r := NewRedactor(stored)
		for name, form := range forms {
			got := r.Text("it says " + form + " there")
			if !strings.Contains(got, Redacted) || strings.Contains(got, form) || strings.Contains(got, secret[4:]) {
				t.Errorf("%s, stored as %q: %q", name, stored, got)
			}
			// What is left must not give the secret back: at most one character at
			// each end of it belongs to the secret.
			if len(strings.ReplaceAll(got, Redacted, "")) > len("it says ")+len(" there")+len(form)-len(secret) {
				t.Errorf("%s, stored as %q, leaves %q", name, stored, got)
			}
		}
	}
	basic := NewRedactor("Basic " + base64.StdEncoding.EncodeToString([]byte("ada:correct horse")))
	for _, echo := range []string{"ada:correct horse", `"password": "correct horse"`, base64.StdEncoding.EncodeToString([]byte("ada:correct horse"))} {
		if got := basic.Text(echo); !strings.Contains(got, Redacted) || strings.Contains(got, "horse") {
			t.Errorf("%q: %q", echo, got)
		}
	}
	plain := "SGVsbG8gd29ybGQsIHRoaXMgaXMgbm90aGluZw== 6b65790a k?y with all"
	if got := NewRedactor(secret).Text(plain); got != plain {
		t.Errorf("harmless text became %q", got)
	}
}

func TestRedactorValue(t *testing.T) {
	t.Parallel()
	r := NewRedactor("sk-secret")
	given := map[string]any{"a sk-secret": []any{"x sk-secret", Number(1), nil, map[string]any{"b": "sk-secret"}}, "c": true}
	wantJSON(t, r.Value(given), `{"a [secret]":["x [secret]",1,null,{"b":"[secret]"}],"c":true}`)
	if !strings.Contains(string(EncodeJSON(given)), "sk-secret") {
		t.Error("the value that was given has been changed")
	}
	if v := (&Redactor{}).Value(given); string(EncodeJSON(v)) != string(EncodeJSON(given)) {
		t.Error("without secrets a value stays as it is")
	}
}

// echoKind sends back what it was given, as a careless service does.
var echoKind = Kind{
	Name: "echo", Title: "Echo", Group: "Test", Summary: "Sends a secret back.",
	Fields:  []Field{{Name: "secret", Type: FieldSecret}, {Name: "fail", Type: FieldBoolean, Typed: true}},
	Outputs: []Port{{Name: "text", Type: TypeText}},
	Run: func(ctx context.Context, in *In) (Out, error) {
		secret, err := in.Secret(ctx, in.Config["secret"], "")
		if err == nil && in.Config["fail"] == true {
			err = Errorf(CodeProviderAuth, "refused: %s", secret)
		}
		return Out{Outputs: map[string]any{"text": "you sent " + secret}}, err
	},
}

func TestEngineRedactsWhatComesBack(t *testing.T) {
	bubble(t, func(t *testing.T, _ func() time.Duration) {
		s := newStation(t, `
			a echo {"secret": {"credential": "mine"}}
			b echo {"secret": {"credential": "mine"}, "fail": true} {"on_error": "route"}`, echoKind)
		s.finish()
		s.wantEnd(RunSucceeded, "")
		wantJSON(t, s.step("a").Outputs, `{"text":"you sent [secret]"}`)
		wantJSON(t, s.step("b").Outputs, `{"error":{"code":"provider_auth","message":"refused: [secret]","node":"b"}}`)
		if e := s.step("b").Error; e == nil || e.Message != "refused: [secret]" {
			t.Errorf("the error of b is %v", e)
		}
	})
}

// TestVoice: a secret that comes in pieces is not passed on in pieces.
func TestVoice(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		pieces []string
		want   []string
	}{
		{"at once", []string{"key sk-abab!"}, []string{"key [secret]!"}},
		{"cut in two", []string{"key sk-", "abab!"}, []string{"key ", "[secret]!"}},
		{"letter by letter", []string{"s", "k", "-", "a", "b", "a", "b"}, []string{"[secret]"}},
		{"only alike", []string{"sk-ab", "!"}, []string{"sk-ab!"}},
		{"alike at the end", []string{"a task", " sk-a"}, []string{"a ta", "sk ", "sk-a"}},
		{"nothing of the kind", []string{"one ", "two"}, []string{"one ", "two"}},
	}
	for _, tt := range tests {
		var said []string
		v := &voice{secrets: NewRedactor("sk-abab"), say: func(text string) { said = append(said, text) }}
		for _, piece := range tt.pieces {
			v.write(piece)
		}
		if v.end(); strings.Join(said, "|") != strings.Join(tt.want, "|") {
			t.Errorf("%s: said %q, want %q", tt.name, said, tt.want)
		}
	}
}

// TestEngineTakesNoCredentialFromData: what comes by an edge chooses no secret.
func TestEngineTakesNoCredentialFromData(t *testing.T) {
	bubble(t, func(t *testing.T, _ func() time.Duration) {
		s := newStation(t, `
			x input {"name": "x"}
			a echo {} {"on_error": "route"}
			h hook {"url": "https://example.com"} {"on_error": "route"}
			o output {"name": "o"}
			x.value -> a.secret
			a.text -> o.value`, echoKind)
		s.disk = newDisk(Run{ID: "run_1", State: RunQueued, Inputs: map[string]any{"x": map[string]any{"credential": "mine"}}, Timeout: RunTimeout})
		s.finish()
		if e := s.step("a").Error; e == nil || e.Code != CodeInputInvalid || !strings.Contains(e.Message, "came as data") {
			t.Errorf("the step says %+v, %v", e, s.step("a").Outputs)
		}
	})
}
