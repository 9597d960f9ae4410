package handlers_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestHalfClosedBrowser_gets_its_response checks that a client that half-closes its connection
// before it reads gets the same response from the dashboard as any other.
func TestHalfClosedBrowser_gets_its_response(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	f := &wireFuzzer{Rand: rand.New(rand.NewPCG(1, 1)), h: h}
	f.signIn()
	id, form := h.Flow(webtest.EchoFlow), h.FormOf(webtest.EchoFlow)
	owner := h.Person(flow.MemberOwner)
	file := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"flow.json\"\r\nContent-Type: application/json\r\n\r\n" + webtest.PublishGreeting + "\r\n--b--\r\n"
	const urlencoded, multipart = "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"
	for name, c := range map[string]struct {
		path, contentType string
		body              func(i int) string
		status            int
	}{
		"sign in":          {"/sign-in", urlencoded, func(int) string { return url.Values{"email": {owner}, "password": {webtest.Password}}.Encode() }, http.StatusSeeOther},
		"new flow":         {"/flows", urlencoded, func(int) string { return "" }, http.StatusSeeOther},
		"import":           {"/flows/import", multipart, func(int) string { return file }, http.StatusSeeOther},
		"run of the draft": {"/flows/" + id + "/run", urlencoded, func(int) string { return "filled=1&in.word=a" }, http.StatusSeeOther},
		"limits":           {"/flows/" + id + "/limits", urlencoded, func(int) string { return "runs_per_day=5000" }, http.StatusSeeOther},
		"new key":          {"/keys", urlencoded, func(i int) string { return fmt.Sprintf("name=key%d&scope=run", i) }, http.StatusOK},
		"credential":       {"/credentials", urlencoded, func(i int) string { return fmt.Sprintf("provider=openai&name=openai%d&secret=sk-right", i) }, http.StatusSeeOther},
		"form": {"/f/" + form, multipart, func(int) string {
			return "--b\r\nContent-Disposition: form-data; name=\"in.word\"\r\n\r\na\r\n--b--\r\n"
		}, http.StatusSeeOther},
		"refused form":     {"/keys", urlencoded, func(int) string { return "name=" }, http.StatusUnprocessableEntity},
		"unreadable form":  {"/keys", "multipart/form-data", func(int) string { return "x" }, http.StatusUnprocessableEntity},
		"form that is cut": {"/keys", multipart, func(int) string { return file[:40] }, http.StatusUnprocessableEntity},
		"unknown flow":     {"/flows/flow_x/run", urlencoded, func(int) string { return "" }, http.StatusNotFound},
		"edit as JSON":     {"/flows/" + id + "/ops", "application/json", func(int) string { return "{" }, http.StatusUnprocessableEntity},
		"theme":            {"/theme", urlencoded, func(int) string { return "theme=dark" }, http.StatusSeeOther},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range 10 {
				body, cookie := c.body(i), strings.TrimSuffix(f.session, "; ")
				if c.path == "/sign-in" { // which would end the session
					cookie = "theme=dark"
				}
				raw := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\nSec-Fetch-Site: same-origin\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
					c.path, h.Http.Listener.Addr(), cookie, c.contentType, len(body), body)
				if status, text, err := f.exchange([]byte(raw), "finish"); status != c.status || err != nil {
					t.Fatalf("got %d %s %v\n%s", status, text, err, h.Log)
				}
			}
		})
	}
	if strings.Contains(h.Log.String(), "level=ERROR") {
		t.Errorf("the log holds errors:\n%s", h.Log)
	}
}
