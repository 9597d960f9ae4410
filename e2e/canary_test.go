package e2e

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// canaries are secrets planted wherever Sluice accepts one. They may be sent only to their
// intended receivers.
var canaries = map[string]string{
	"credential of a provider":    "canary-provider-8c1f0a52",
	"secret of the environment":   "canary-environment-77d2e9b1",
	"credential in a header":      "canary-header-19ab33cd",
	"literal in a document":       "canary-literal-e04b5f6a",
	"literal in a URL":            "canary-in-url-5d6e7f80",
	"literal in a query":          "canary-in-query-6e7f8091",
	"literal in a body":           "canary-in-body-7f8091a2",
	"literal in a text":           "canary-in-text-8091a2b3",
	"signing secret of a webhook": "whsec_" + base64.StdEncoding.EncodeToString([]byte("canary-signing-5f6a7b8c9d0e1f2a")),
	"custom signature":            "canary-signature-2b3c4d5e",
	"secret input":                "canary-input-3c4d5e6f",
	"secret of a run's webhook":   "whsec_" + base64.StdEncoding.EncodeToString([]byte("canary-per-run-0a1b2c3d4e5f6a7b")),
}

// echoServer sends back everything that it receives: as JSON, in an error, or as the
// provider of a chat model.
func echoServer(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		all := fmt.Sprintf("%s %s %v %q %s", r.Method, r.URL, r.Header, r.Header, body)
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		w.Header().Set("X-Hex", hex.EncodeToString([]byte("Bearer "+r.Header.Get("Authorization"))))
		w.Header().Set("X-Base64", base64.StdEncoding.EncodeToString([]byte("Bearer "+r.Header.Get("Authorization"))))
		switch {
		case strings.HasSuffix(r.URL.Path, "/chat/completions") && strings.HasPrefix(r.URL.Path, "/good"):
			w.Header().Set("Content-Type", "text/event-stream")
			said := strings.ReplaceAll(strings.ReplaceAll(all, `\`, `/`), `"`, `'`)
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"}}]}\n\ndata: [DONE]\n\n", said)
		case strings.HasPrefix(r.URL.Path, "/fail"), strings.HasSuffix(r.URL.Path, "/chat/completions"):
			http.Error(w, all, http.StatusUnauthorized)
		default:
			_, _ = io.WriteString(w, all)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestCanary uses secrets of every kind against servers that echo everything, and then
// searches for them in everything that Sluice stores, logs and shows.
func TestCanary(t *testing.T) {
	t.Parallel()
	echo := echoServer(t)
	s := newServer(t, "OPENAI_API_KEY="+canaries["secret of the environment"], "OPENAI_BASE_URL="+echo.URL+"/good/v1")
	var seen strings.Builder
	for _, c := range []struct{ name, secret, provider, base string }{
		{"good", "credential of a provider", "openai_compatible", echo.URL + "/good/v1"},
		{"bad", "credential of a provider", "openai_compatible", echo.URL + "/bad/v1"},
		{"header", "credential in a header", "", ""},
		{"signing", "signing secret of a webhook", "", ""},
		{"signature", "custom signature", "", ""},
	} {
		args := []string{"credential", "add", "--name", c.name, "--provider", c.provider, "--base-url", c.base}
		if c.provider == "" {
			args = append(args, "--host", "127.0.0.1")
		}
		r := s.commandWith(canaries[c.secret], args...)
		if r.code != 0 {
			t.Fatalf("credential add: %+v", r)
		}
		seen.WriteString(r.out + r.errs)
	}
	id := s.publish(canaryFlow(echo.URL))
	c := s.client(s.manager())
	webhook := object{"url": echo.URL + "/run", "secret": canaries["secret of a run's webhook"]}
	a := c.want(200, "POST", "/v1/flow/"+id+"/run", object{"n": "1", "key": canaries["secret input"], "run_options": object{"webhook": webhook}}, "Prefer: wait=30", "Idempotency-Key: canary")
	seen.Write(a.body)
	runID := fmt.Sprint(a.object(t)["run_id"])
	if status := a.object(t)["status"]; status != "succeeded" {
		t.Fatalf("the run is %v: %s", status, a.body)
	}
	s.waitUntil("both webhooks are delivered", func() bool {
		return strings.Count(string(c.do("GET", "/v1/flow/"+id+"/deliveries", nil).body), `"delivered"`) == 4
	})
	path := "/v1/flow/" + id + "/run/" + runID
	replay := object{"n": "1", "key": canaries["secret input"], "run_options": object{"webhook": webhook}}
	if a := c.want(200, "POST", "/v1/flow/"+id+"/run", replay, "Prefer: wait=30", "Idempotency-Key: canary"); a.object(t)["run_id"] != runID {
		t.Errorf("the repeated request started another run: %s", a.body)
	}
	replay["key"] = "another"
	c.rejected(422, "idempotency_mismatch", "POST", "/v1/flow/"+id+"/run", replay, "Idempotency-Key: canary")
	again := c.await(c.do("POST", path+"/rerun", object{"from": "keyed"}).run(t))
	if again.Status != "succeeded" {
		t.Fatalf("the rerun is %s: %+v", again.Status, again.Error)
	}
	c.rejected(422, "input_invalid", "POST", path+"/rerun", object{"inputs": object{"n": "2"}}) // a caller who changes inputs must know the secret
	for _, p := range []string{"", "/steps", "/events"} {
		seen.Write(c.want(200, "GET", again.path()+p, nil).body)
	}
	for _, p := range []string{path, path + "/result", path + "/steps", path + "/events", "/v1/flow/" + id, "/v1/flow/" + id + "/openapi.json", "/v1/flow/" + id + "/runs", "/v1/runs", "/v1/flow/" + id + "/deliveries", "/v1/flow"} {
		seen.Write(c.want(200, "GET", p, nil).body)
	}
	admin := s.client(s.key("--scope", "admin,read"))
	seen.Write(admin.want(200, "PUT", "/v1/credentials/header", object{"secret": canaries["credential in a header"], "hosts": []string{"127.0.0.1"}}).body)
	seen.Write(admin.rejected(422, "input_invalid", "PUT", "/v1/credentials/header", object{"secret": canaries["credential in a header"], "hosts": 1}).body)
	made := admin.want(201, "POST", "/v1/keys", object{"name": "made", "scopes": []string{"read"}})
	keyID := fmt.Sprint(made.object(t)["id"])
	secrets := []string{fmt.Sprint(made.object(t)["key"]), fmt.Sprint(made.object(t)["webhook_secret"])}
	secrets = append(secrets, fmt.Sprint(admin.want(200, "POST", "/v1/keys/"+keyID+"/rotate", nil).object(t)["key"]))
	seen.Write(admin.want(200, "PATCH", "/v1/keys/"+keyID, object{"name": "renamed"}).body)
	seen.Write(admin.rejected(403, "exceeds_key", "POST", "/v1/keys", object{"name": "wide", "scopes": []string{"edit"}}).body)
	for _, p := range []string{"/v1/keys", "/v1/keys/" + keyID, "/v1/users", "/v1/credentials", "/v1/credentials/header", "/v1/credentials/good", "/v1/usage?by=key", "/v1/usage?by=model", "/v1/audit/verify", "/v1/audit", "/v1/prices", "/v1/workspaces", "/v1/providers", "/v1/flow/" + id + "/limits"} {
		seen.Write(admin.want(200, "GET", p, nil).body)
	}
	seen.Write(admin.want(200, "PATCH", "/v1/credentials/header", object{"calls_per_minute": 600}).body)
	seen.Write(admin.want(200, "PATCH", "/v1/flow/"+id+"/limits", object{"max_running": 5}).body)
	author := s.client(s.key("--scope", "edit,read"))
	for _, p := range []string{"/document?version=draft", "/document?version=live", "/versions", "/diff?from=live&to=draft"} {
		seen.Write(author.want(200, "GET", "/v1/flow/"+id+p, nil).body)
	}
	literal := documentOf("Literal", []object{node("call", "http_request", object{"url": echo.URL, "headers": object{"X-Api-Key": canaries["literal in a document"]}})})
	seen.Write(author.rejected(422, "secret_in_document", "POST", "/v1/flow", literal).body)
	for _, name := range []string{"good", "bad"} {
		seen.Write(admin.want(200, "POST", "/v1/credentials/"+name+"/test", nil).body)
	}
	for _, args := range [][]string{
		{"flow", "export", id}, {"flow", "list", "--json"}, {"credential", "list"}, {"credential", "list", "--json"},
		{"credential", "test", "bad"}, {"key", "list", "--json"}, {"flow", "run", id, "--input", "n=1", "--input", "key=" + canaries["secret input"]},
	} {
		r := s.command(args...)
		seen.WriteString(r.out + r.errs)
	}
	p := s.process()
	s.stop()
	seen.WriteString(p.out.String() + p.errs.String())
	if text := seen.String(); !strings.Contains(text, "[secret]") || strings.Count(text, "Bearer") < 4 {
		t.Fatalf("the servers' answers are not to be seen at all:\n%.2000s", text)
	}
	for _, secret := range secrets {
		wantNowhere(t, "secret of a key", secret, "what was said and shown after it was created", seen.String())
		wantNotOnDisk(t, "secret of a key", secret, s.dir)
	}
	for what, secret := range canaries {
		wantNowhere(t, what, secret, "what was said and shown", seen.String())
		wantNotOnDisk(t, what, secret, s.dir)
	}
}

// canaryFlow returns a flow that sends every secret. Failures are routed, so that the
// run continues to its end.
func canaryFlow(echo string) []byte {
	ref := func(name string) object { return object{"credential": name} }
	routed := object{"on_error": "route"}
	return documentOf("Canary", []object{
		input("n"), node("key", "input", object{"name": "key", "secret": true}),
		node("keyed", "http_request", object{"url": echo + "/ok", "method": "POST", "headers": object{"Authorization": "Bearer {{key}}"}, "body": object{"n": "{{n}}", "token": "{{key}}"}}),
		node("header", "http_request", object{"url": echo + "/ok", "headers": object{"Authorization": ref("header"), "X-Api-Key": canaries["literal in a document"]}}),
		node("places", "http_request", object{"url": echo + "/ok?n={{n}}&api_key=" + canaries["literal in a URL"], "method": "POST", "query": object{"token": canaries["literal in a query"]},
			"body": object{"login": object{"password": canaries["literal in a body"], "user": "{{n}}"}}}),
		node("text", "http_request", object{"url": echo + "/ok", "method": "POST", "body": `{"n": "{{n}}", "client_secret": "` + canaries["literal in a text"] + `"}`}),
		node("refused", "http_request", object{"url": echo + "/fail", "method": "POST", "body": "{{n}}", "headers": object{"Authorization": ref("header")}}, routed),
		node("good", "chat", object{"model": "good/m", "prompt": "{{n}}"}),
		node("env", "chat", object{"model": "openai/m", "prompt": "{{n}}"}),
		node("bad", "chat", object{"model": "bad/m", "prompt": "{{n}}"}, routed),
		node("hook", "webhook", object{"url": echo + "/hook", "secret": ref("signing")}),
		node("hook2", "webhook", object{"url": echo + "/hook2"}), node("hook3", "webhook", object{"url": echo + "/hook3", "signature": ref("signature")}),
		output("keyed"), output("header"), output("places"), output("text"), output("refused"), output("good"), output("env"), output("bad"),
	}, "n.value > keyed.n", "key.value > keyed.key", "key.value > hook2.signature", "keyed.body > out_keyed.value", "n.value > refused.n", "n.value > places.n", "n.value > text.n", "places.body > out_places.value", "text.body > out_text.value", "n.value > good.n", "n.value > env.n", "n.value > bad.n",
		"header.body > out_header.value", "refused.error > out_refused.value", "good.text > out_good.value", "env.text > out_env.value", "bad.error > out_bad.value")
}

// wantNowhere fails the test if a text contains a secret in any encoding.
func wantNowhere(t *testing.T, what, secret, where, text string) {
	t.Helper()
	// The middle of base64 of "Bearer " + secret: what comes from the secret only.
	bearer := strings.TrimRight(base64.StdEncoding.EncodeToString([]byte("Bearer "+secret)), "=")[10:]
	for _, form := range []string{secret, url.QueryEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
		hex.EncodeToString([]byte(secret)), bearer[:min(26, len(bearer)-1)]} {
		if at := strings.Index(text, form); at >= 0 {
			t.Errorf("the %s is in %s: …%s…", what, where, text[max(0, at-80):min(len(text), at+len(form)+20)])
		}
	}
}

func wantNotOnDisk(t *testing.T, what, secret, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		wantNowhere(t, what, secret, filepath.Base(path), string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
