package main

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommands_of_cases_show_no_secret makes a case of a captured request with secrets, and reads what commands print and write of it.
func TestCommands_of_cases_show_no_secret(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "session=canary-cookie")
		fmt.Fprintf(w, `{"word": %q, "access_token": "canary-answer", "sent": %q}`, r.URL.Query().Get("word"), r.Header.Get("Authorization"))
	}))
	t.Cleanup(service.Close)
	e := newTransportEnv(t, besideServer, "--addr=127.0.0.1:0", "--public-url=https://sluice.example.com", "--allow-private=127.0.0.0/8", "--local-models=off", "--drain-delay=0")
	for name, text := range map[string]string{
		"requested.flow.json": fmt.Sprintf(`{"schema":"sluice.flow/v1","name":"Requested","nodes":[
			{"id":"word","kind":"input","config":{"name":"word","type":"text"}},{"id":"order","kind":"input","config":{"name":"order","type":"json"}},{"id":"token","kind":"input","config":{"name":"token","type":"text","secret":true}},
			{"id":"get","kind":"http_request","config":{"method":"GET","url":"%s/look?word={{word}}","headers":{"Authorization":{"credential":"token"}}}},
			{"id":"out","kind":"output","config":{"name":"answer"}},{"id":"ordered","kind":"output","config":{"name":"ordered"}}],
			"edges":[{"from":"word.value","to":"get.word"},{"from":"get.body","to":"out.value"},{"from":"order.value","to":"ordered.value"}]}`, service.URL),
		"requested.triggers.json": `{"schema":"sluice.triggers/v1","triggers":[{"kind":"hook","name":"orders","verify":{"scheme":"none"},"once":"body.id","inputs":{"word":{"cel":"body.word"},"order":{"cel":"body.order"},"token":{"cel":"body.token"}}}]}`,
		"requested.tests.json":    `{"schema":"sluice.tests/v1","defaults":{"checks":[{"output":"answer","equals":"nothing"},{"output":"ordered","equals":"nothing"}]},"cases":[]}`,
	} {
		if err := os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e.do(step{args: "credential add --name token --host " + strings.TrimPrefix(service.URL, "http://"), in: "canary-credential"})
	e.local("flow", "apply", filepath.Join(e.dir, "requested.flow.json"), filepath.Join(e.dir, "requested.triggers.json"), filepath.Join(e.dir, "requested.tests.json"), "--publish")
	api, err := e.cfg.runningServer(context.Background())
	if err != nil || api == nil {
		t.Fatal(api, err)
	}
	if _, err := api.Call(t.Context(), "POST", "/v1/flow/requested/hooks/orders/capture", map[string]any{"on": true}); err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(strings.TrimSpace(e.local("trigger", "url", "requested", "orders")))
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.app.local+at.Path, strings.NewReader(`{"id":"order-1","word":"yes","token":"canary-input","order":{"item":"cup","api_key":"canary-member","deep":[{"password":"canary-deep"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	sent, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	sent.Body.Close()
	if sent.StatusCode/100 != 2 {
		t.Fatalf("the webhook answers with %d", sent.StatusCode)
	}
	seen := map[string]string{}
	do := func(code int, args string) {
		seen[args] = e.do(step{args: args, code: code})
	}
	do(exitOK, "case from-event requested orders order-1 --preview")
	id := strings.TrimSpace(e.local("case", "from-event", "requested", "orders", "order-1"))
	if err := os.WriteFile(filepath.Join(e.dir, "requested.csv"), []byte("case,answer,ordered\n"+id+",nothing,nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	do(exitOK, "case label requested {dir}/requested.csv")
	do(exitOK, "case list requested")
	do(exitOK, "case list requested --json")
	do(exitError, "flow test requested --mode fill --junit {dir}/junit.xml --markdown {dir}/report.md")
	do(exitError, "flow test requested --json")
	do(exitOK, "flow pull {dir}/pulled --recordings")
	do(exitError, "test {dir}/pulled") // replays what was pulled
	err = filepath.WalkDir(e.dir, func(path string, f fs.DirEntry, err error) error {
		if err != nil || f.IsDir() && f.Name() == "data" {
			return fs.SkipDir
		}
		if f.IsDir() {
			return nil
		}
		data, err := os.ReadFile(path)
		if path, _ = filepath.Rel(e.dir, path); !strings.HasPrefix(path, "requested.") {
			seen["the file "+path] = string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for what, text := range seen {
		if at := strings.Index(text, "canary"); at >= 0 {
			t.Errorf("%s has a secret: %.300s", what, text[max(0, at-100):])
		}
		if strings.HasPrefix(what, "the file ") {
			files++
		}
	}
	if !strings.Contains(seen["case list requested --json"], `"item": "cup"`) || !strings.Contains(seen["the file report.md"], "cup") || files < 6 {
		t.Errorf("commands show nothing of the case, or wrote only %d files, so this proves nothing: %v", files, seen)
	}
}
