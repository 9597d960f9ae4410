package account_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"sluice/flow"
	"sluice/handlers/webtest"
	"time"
)

// wantKey checks whether a key works and who owns it.
func wantKey(h *webtest.Env, k *flow.Key, state flow.KeyState, of *flow.User) {
	h.T.Helper()
	got, err := h.Store.FindKeyByHash(h.T.Context(), k.Hash)
	if err != nil {
		h.T.Fatal(err)
	}
	if got.State(h.Server.Site.Now()) != state || got.CreatedBy != of.ID {
		h.T.Errorf("%s is %s and of %s, want %s and %s", k.Name, got.State(h.Server.Site.Now()), got.CreatedBy, state, of.ID)
	}
}

// found creates a workspace with an owner.
func found(h *webtest.Env, name string, owner *flow.User) string {
	h.T.Helper()
	w := &flow.Workspace{Name: name}
	if err := h.Store.CreateOwnedWorkspace(context.Background(), w, owner.ID); err != nil {
		h.T.Fatal(err)
	}
	return string(w.ID)
}

// link returns the link that a page shows once, without the host.
func link(h *webtest.Env, a *webtest.Answer) string {
	h.T.Helper()
	found := regexp.MustCompile(`<code>http://[^/]+(/[^<]+)</code>`).FindStringSubmatch(a.Body)
	if found == nil {
		h.T.Fatalf("there is no link in: %s", a.Body)
	}
	return found[1]
}

// logged returns the actions in a workspace's audit log, newest first.
func logged(h *webtest.Env, ws flow.WorkspaceID) (actions []string) {
	h.T.Helper()
	list, err := h.Store.ListAudit(context.Background(), ws, "", 100)
	if err != nil {
		h.T.Fatal(err)
	}
	for _, e := range list {
		actions = append(actions, e.Action)
	}
	return actions
}

// postSlowly calls a function while the server waits for the body of the form, and then sends the form.
func postSlowly(b *webtest.Browser, path string, form url.Values, meanwhile func()) {
	b.T.Helper()
	body, send := io.Pipe()
	trace := &httptrace.ClientTrace{Got100Continue: func() {
		meanwhile()
		go func() {
			_, err := io.WriteString(send, form.Encode())
			_ = send.CloseWithError(err)
		}()
	}}
	r, err := http.NewRequestWithContext(httptrace.WithClientTrace(b.T.Context(), trace), "POST", b.Base+path, body)
	if err != nil {
		b.T.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Expect", "100-continue")
	transport := &http.Transport{ExpectContinueTimeout: time.Minute}
	defer transport.CloseIdleConnections()
	client := *b.Client
	client.Transport = transport
	resp, err := client.Do(r)
	if err != nil {
		b.T.Fatal(err)
	}
	resp.Body.Close()
}
