package account_test

import (
	"log"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/web"
	"sluice/handlers/webtest"
)

// TestEndedSession sends requests that are under way while their session ends:
// none of them may bring it back.
func TestEndedSession(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	for name, r := range map[string]struct {
		path string
		form url.Values
	}{
		"by a message for the next page": {"/settings/workspace", url.Values{"name": {"Renamed"}}},
		"by a fresh token":               {"/workspaces/switch", url.Values{"workspace": {flow.DefaultWorkspace}}},
	} {
		t.Run("is not restored "+name, func(t *testing.T) {
			email := h.Person(flow.MemberOwner)
			b := h.SignIn(email)
			postSlowly(b, r.path, r.form, func() {
				u, err := h.Store.FindUserByEmail(t.Context(), email)
				if err != nil {
					t.Error(err)
					return
				}
				if n, err := h.Store.EndSessions(t.Context(), u.ID, ""); n != 1 || err != nil {
					t.Errorf("%d sessions ended: %v", n, err)
				}
			})
			b.Get("/flows").RedirectsTo("/sign-in?next=%2Fflows")
		})
	}
}

// TestSession_failed_save_is_one_error_page checks that the response is only the error page when a session cannot
// be stored.
func TestSession_failed_save_is_one_error_page(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	if _, err := h.Store.SQLite().Exec(`CREATE TRIGGER broken BEFORE INSERT ON sessions BEGIN SELECT RAISE(ABORT, 'the store is broken'); END`); err != nil {
		t.Fatal(err)
	}
	h.Http.Config.ErrorLog = log.New(h.Log, "", 0)
	a := h.Anonymous().Post("/sign-in", url.Values{"email": {"founder@example.com"}, "password": {webtest.Password}}).Is(http.StatusInternalServerError)
	if n := strings.Count(a.Body, "<html"); n != 1 || a.Header.Get("Location") != "" {
		t.Errorf("the answer holds %d pages and leads to %q: %s", n, a.Header.Get("Location"), a.Body)
	}
	if strings.Contains(h.Log.String(), "superfluous") || !strings.Contains(h.Log.String(), "the store is broken") {
		t.Errorf("the log holds: %s", h.Log)
	}
}

func TestToasts(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	t.Run("keeps only the newest for the next page", func(t *testing.T) {
		b := h.As(flow.MemberOwner)
		for range web.MaxToasts + 3 {
			b.Post("/settings/workspace", url.Values{"name": {"Renamed"}}).RedirectsTo("/settings/workspace")
		}
		page := b.Get("/settings/workspace").Is(http.StatusOK)
		if n := strings.Count(page.Body, "The workspace was renamed to Renamed."); n != web.MaxToasts {
			t.Errorf("%d messages wait, want %d", n, web.MaxToasts)
		}
	})
}

// TestStreamsAreBounded opens streams as fast as a program can.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(`{"schema": "sluice.flow/v1", "name": "F", "nodes": [{"id": "a", "kind": "text", "config": {"text": "x"}}], "edges": []}`)
	b := h.As(flow.MemberViewer)
	for i := range web.MaxStreams + 1 {
		resp, err := b.Client.Get(b.Base + "/flows/" + id + "/events?rev=0")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		want := http.StatusOK
		if i == web.MaxStreams {
			want = http.StatusTooManyRequests
		}
		if resp.StatusCode != want {
			t.Fatalf("stream %d: status %d, want %d", i, resp.StatusCode, want)
		}
	}
}
