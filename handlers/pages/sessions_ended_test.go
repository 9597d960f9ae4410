package pages

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"sluice/flow"
	"sluice/views"
)

// TestEndedSession sends requests that are under way while their session ends:
// none of them may bring it back.
func TestEndedSession(t *testing.T) {
	t.Parallel()
	h := setup(t)
	for name, r := range map[string]struct {
		path string
		form url.Values
	}{
		"by a message for the next page": {"/settings/workspace", url.Values{"name": {"Renamed"}}},
		"by a fresh token":               {"/workspaces/switch", url.Values{"workspace": {flow.DefaultWorkspace}}},
	} {
		t.Run("is not brought back "+name, func(t *testing.T) {
			email := h.person(flow.MemberOwner)
			b := h.signIn(email)
			b.postSlowly(r.path, r.form, func() {
				u, err := h.store.FindUserByEmail(t.Context(), email)
				if err != nil {
					t.Error(err)
					return
				}
				if n, err := h.store.EndSessions(t.Context(), u.ID, ""); n != 1 || err != nil {
					t.Errorf("%d sessions ended: %v", n, err)
				}
			})
			b.get("/flows").see("/sign-in?next=%2Fflows")
		})
	}
}

// brokenSessions is a store that cannot keep sessions.
type brokenSessions struct{ Store }

func (brokenSessions) SaveSession(context.Context, *flow.Session) error {
	return errors.New("the store is broken")
}

// TestSessionNotKept holds that the error page is the whole answer when a
// session cannot be stored.
func TestSessionNotKept(t *testing.T) {
	t.Parallel()
	h := setup(t, func(c *Config) { c.Store = brokenSessions{c.Store} })
	h.http.Config.ErrorLog = log.New(h.log, "", 0)
	a := h.stranger().post("/sign-in", url.Values{"email": {"founder@example.com"}, "password": {password}}).is(http.StatusInternalServerError)
	if n := strings.Count(a.body, "<html"); n != 1 || a.header.Get("Location") != "" {
		t.Errorf("the answer holds %d pages and leads to %q: %s", n, a.header.Get("Location"), a.body)
	}
	if strings.Contains(h.log.String(), "superfluous") || !strings.Contains(h.log.String(), "the store is broken") {
		t.Errorf("the log holds: %s", h.log)
	}
}

// postSlowly does something once the server waits for the form, and then sends
// the form.
func (b *browser) postSlowly(path string, form url.Values, meanwhile func()) {
	b.t.Helper()
	body, send := io.Pipe()
	trace := &httptrace.ClientTrace{Got100Continue: func() {
		meanwhile()
		go func() {
			_, err := io.WriteString(send, form.Encode())
			_ = send.CloseWithError(err)
		}()
	}}
	r, err := http.NewRequestWithContext(httptrace.WithClientTrace(b.t.Context(), trace), "POST", b.base+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Expect", "100-continue")
	transport := &http.Transport{ExpectContinueTimeout: time.Minute}
	defer transport.CloseIdleConnections()
	client := *b.client
	client.Transport = transport
	resp, err := client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	resp.Body.Close()
}

func TestToasts(t *testing.T) {
	t.Parallel()
	h := setup(t)
	t.Run("keeps only the newest for the next page", func(t *testing.T) {
		b := h.as(flow.MemberOwner)
		for range mostFlashed + 3 {
			b.post("/settings/workspace", url.Values{"name": {"Renamed"}}).see("/settings/workspace")
		}
		page := b.get("/settings/workspace").is(http.StatusOK)
		if n := strings.Count(page.body, "The workspace is called Renamed now."); n != mostFlashed {
			t.Errorf("%d messages wait, want %d", n, mostFlashed)
		}
	})
	t.Run("bounds the header", func(t *testing.T) {
		w := httptest.NewRecorder()
		c := &call{Context: echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/", nil), w)}
		c.tellToast(views.ToneBad, strings.Repeat("\U0001F600\x7f", 5000))
		if said := w.Header().Get("HX-Trigger"); said == "" || len(said) > 14*longestToast || strings.Contains(said, "\x7f") {
			t.Errorf("a header of %d bytes", len(said))
		}
	})
}

func TestStreams(t *testing.T) {
	t.Parallel()
	var s streams
	for range mostStreams {
		if !s.enter("user_1") {
			t.Fatal("refused too early")
		}
	}
	if s.enter("user_1") || !s.enter("user_2") {
		t.Error("the bound is not that of one person")
	}
	s.leave("user_1")
	if !s.enter("user_1") {
		t.Error("what was left stays counted")
	}
}

// TestStreamsAreBounded opens streams as fast as a program can.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.flow(`{"schema": "sluice.flow/v1", "name": "F", "nodes": [{"id": "a", "kind": "text", "config": {"text": "x"}}], "edges": []}`)
	b := h.as(flow.MemberViewer)
	for i := range mostStreams + 1 {
		resp, err := b.client.Get(b.base + "/flows/" + id + "/events?rev=0")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		want := http.StatusOK
		if i == mostStreams {
			want = http.StatusTooManyRequests
		}
		if resp.StatusCode != want {
			t.Fatalf("stream %d: status %d, want %d", i, resp.StatusCode, want)
		}
	}
}
