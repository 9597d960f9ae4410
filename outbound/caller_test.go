package outbound

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"sluice/flow/caller"
)

// sending returns a context of requests that a run sends.
func sending(t *testing.T, c caller.Caller) context.Context {
	return caller.Sending(t.Context(), func(context.Context) (caller.Caller, error) { return c, nil })
}

func TestCaller_marks_requests_to_the_own_server_only(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	handler := func(w http.ResponseWriter, r *http.Request) {
		rec.keep(r)
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
		}
	}
	mine, other := newServer(t, handler), newServer(t, handler)
	client := newClient(t, loopback())
	if err := client.SetOwn("http://localhost"+portOf(mine), []byte("key")); err != nil {
		t.Fatal(err)
	}
	sender := caller.Caller{RootRunID: "run_7", Depth: 2}
	forged := http.Header{caller.Header: {"forged"}}
	for _, c := range []struct {
		name, url, at string
		ctx           context.Context
		marked        bool
	}{
		{"own", mine.URL + "/a", mine.URL + "/a", sending(t, sender), true},
		{"other", other.URL + "/b", other.URL + "/b", sending(t, sender), false},
		{"no run", mine.URL + "/c", mine.URL + "/c", t.Context(), false},
		{"redirect to own", other.URL + "/d?to=" + mine.URL + "/d2", mine.URL + "/d2", sending(t, sender), true},
		{"redirect to other", mine.URL + "/e?to=" + other.URL + "/e2", other.URL + "/e2", sending(t, sender), false},
	} {
		if _, err := client.Do(c.ctx, Request{URL: c.url, Header: forged, MaxRedirects: 1}); err != nil {
			t.Fatal(err)
		}
		got, ok := caller.Verify([]byte("key"), rec.headers(t, strings.TrimPrefix(c.at, "http://")).Get(caller.Header))
		if ok != c.marked || ok && got != sender {
			t.Errorf("%s: got %+v, %v", c.name, got, ok)
		}
		if rec.headers(t, strings.TrimPrefix(c.at, "http://")).Get(caller.Header) == "forged" {
			t.Errorf("%s: the flow's own header was sent", c.name)
		}
	}
	if forged.Get(caller.Header) != "forged" {
		t.Error("the caller's header map was changed")
	}
}

func TestCaller_sends_nothing_if_the_run_cannot_be_read(t *testing.T) {
	t.Parallel()
	server := newServer(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	client := newClient(t, loopback())
	if err := client.SetOwn(server.URL, []byte("key")); err != nil {
		t.Fatal(err)
	}
	ctx := caller.Sending(t.Context(), func(context.Context) (caller.Caller, error) { return caller.Caller{}, errors.New("away") })
	_, err := client.Do(ctx, Request{URL: server.URL})
	wantKind(t, err, ClassConnection)
}
