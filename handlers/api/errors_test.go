package api

import (
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"sluice/flow"
	"sluice/flow/codes"
	"sluice/handlers/web"
)

var update = flag.Bool("update", false, "update the golden files")

var (
	anyID      = regexp.MustCompile(`(flow|run)_[0-9a-z]{26}`)
	anyRequest = regexp.MustCompile(`req_[A-Z2-7]{26}`)
)

// golden compares a problem, without IDs, with a file.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	got = anyID.ReplaceAll(got, []byte("${1}_ID"))
	got = append(anyRequest.ReplaceAll(got, []byte("req_ID")), '\n')
	file := filepath.Join("testdata", "problems", name+".json")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is\n%swanted\n%s", name, got, want)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	w := setup(t)
	run := "/v1/flow/" + w.echo + "/run"
	requests := map[string]request{
		"not_found":              {method: "GET", path: "/v1/nothing"},
		"method_not_allowed":     {method: "PUT", path: run},
		"key_missing":            {method: "GET", path: "/v1/flow", key: "-"},
		"key_in_url":             {method: "GET", path: "/v1/flow?key=x"},
		"scope_missing":          {method: "DELETE", path: run + "/run_x"},
		"not_acceptable":         {method: "GET", path: "/v1/flow", headers: []string{"Accept", "text/html"}},
		"unsupported_media_type": {method: "POST", path: run},
		"invalid_json":           {method: "POST", path: run, body: `{"ticket": "a", "ticket": "b"}`},
		"input_invalid":          {method: "POST", path: run, body: `{"tickt": "a", "times": 10, "run_options": {"webhook": {"url": "file:///etc/passwd"}}}`},
		"not_published":          {method: "POST", path: "/v1/flow/" + w.unpublished + "/run", body: `{"ticket": "a"}`},
		"run_failed":             {method: "GET", path: w.endedRun(w.failing, `{}`) + "/result"},
	}
	for name, r := range requests {
		a := w.send(r)
		if got := a.header.Get("Content-Type"); got != "application/problem+json" {
			t.Errorf("%s: Content-Type %q", name, got)
		}
		if a.body["code"] != name || a.body["status"] != float64(a.status) || a.body["type"] != publicURL+"/docs/errors#"+name || a.body["request_id"] != a.header.Get("X-Request-Id") {
			t.Errorf("%s: %d %s", name, a.status, a.raw)
		}
		golden(t, name, a.raw)
	}
}

func TestRouterDefaultsAreProblems(t *testing.T) {
	t.Parallel()
	w := setup(t)
	a := w.send(request{method: "PATCH", path: "/v1/flow/" + w.echo + "/run/run_x", key: "-"})
	a.wantCode(t, 405, flow.CodeMethodNotAllowed)
	if allow := a.header.Get("Allow"); !strings.Contains(allow, "GET") || !strings.Contains(allow, "DELETE") {
		t.Errorf("Allow %q", allow)
	}
	for code, want := range map[int]flow.Code{404: flow.CodeNotFound, 405: flow.CodeMethodNotAllowed, 413: flow.CodeBodyTooLarge, 415: flow.CodeUnsupportedMediaType, 418: flow.CodeInternal} {
		if got := routerError(echo.NewHTTPError(code, "secret"), httptest.NewRequest("GET", "/", nil)); got.Code != want || strings.Contains(got.Message, "secret") {
			t.Errorf("%d becomes %v", code, got)
		}
	}
}

func TestPanicsAreProblems(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for _, r := range w.server.routes {
		if r.Path == "/v1/flow" {
			r.Handle = func(*Call) error { panic("secret of the house") }
		}
		if r.Path == "/v1/flow/:flow_id" {
			r.Handle = func(*Call) error { return errors.New("sql: SELECT secret") }
		}
	}
	for _, path := range []string{"/v1/flow", "/v1/flow/" + w.echo} {
		a := w.get(path)
		a.wantCode(t, 500, flow.CodeInternal)
		if strings.Contains(string(a.raw), "secret") || strings.Contains(string(a.raw), ".go") {
			t.Errorf("the answer tells %s", a.raw)
		}
	}
	if log := w.log.String(); !strings.Contains(log, "secret of the house") || !strings.Contains(log, "SELECT secret") {
		t.Errorf("the log says %s", log)
	}
	if n := w.server.gate.busy.Load(); n != 0 {
		t.Errorf("%d requests are still in", n)
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	for given, echoed := range map[string]bool{
		"": false, "a": true, "Root=1-67891233-abc.def:ghi/j+k": true, strings.Repeat("a", 128): true, strings.Repeat("a", 129): false,
		"a b": false, "ä": false, "a\"b": false, "<b>": false, flow.NewKeyText(): false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("X-Request-Id", given)
		if got := web.RequestID(r); (got == given) != echoed || got == "" {
			t.Errorf("%q gives %q", given, got)
		}
	}
}

// TestEveryCodeHasAStatus checks that the table of problems has all codes of rejected
// requests. A missing code would become a 500.
func TestEveryCodeHasAStatus(t *testing.T) {
	t.Parallel()
	contract := map[int]string{
		400: "invalid_json, invalid_header, key_in_url", 401: "key_missing, key_invalid, key_expired, key_revoked", 402: "budget_exceeded, quota_exceeded",
		403: "scope_missing, flow_not_allowed", 404: "not_found", 405: "method_not_allowed", 406: "not_acceptable", 415: "unsupported_media_type", 413: "body_too_large",
		409: "idempotency_in_progress, not_published, run_not_ended", 410: "result_not_saved, run_expired", 422: "input_invalid, idempotency_mismatch",
		424: "run_failed, run_canceled", 429: "rate_limited, concurrency_limited, queue_full", 500: "internal", 503: "draining, storage_full, overloaded",
	}
	for status, list := range contract {
		for code := range strings.SplitSeq(list, ", ") {
			if k := codes.Of(flow.Code(code)); k.Status != status || k.Title == "" || (status == 429 || status == 503) && k.After == 0 {
				t.Errorf("%s: %+v, wanted %d", code, k, status)
			}
		}
	}
}

// TestEmptyID_is_named_in_the_error sends paths without an ID, as scripts do if a variable
// is not set.
func TestEmptyID_is_named_in_the_error(t *testing.T) {
	t.Parallel()
	w := setup(t)
	key := w.addKey(flow.Key{Scopes: flow.Scopes})
	names := map[string]string{":flow_id": "flow ID", ":run_id": "run ID", ":file_id": "file ID", ":delivery_id": "delivery ID"}
	for _, r := range w.server.routes {
		for param, name := range names {
			if !strings.Contains(r.Path, param) || r.Method == http.MethodHead {
				continue
			}
			path := strings.Replace(r.Path, param, "", 1)
			path = strings.NewReplacer(":flow_id", w.echo, ":run_id", "run_x").Replace(path)
			a := w.send(request{method: r.Method, path: path, key: key, body: `{}`})
			if a.status != 404 || a.field("detail") != "The "+name+" in the path is empty. If it comes from a variable, set that first." {
				t.Errorf("%s %s answers %d %s", r.Method, path, a.status, a.raw)
			}
		}
	}
	for _, path := range []string{"/v1/flow/flow_x", "/v1/nothing", "/v1//flow"} {
		if a := w.send(request{method: "GET", path: path, key: key}); a.status != 404 || strings.Contains(flow.Text(a.field("detail")), "empty") {
			t.Errorf("GET %s answers %d %s", path, a.status, a.raw)
		}
	}
}

// TestRetryAfter checks that an error's own wait wins over the default of its code.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  flow.Error
		want time.Duration
	}{
		{flow.Error{Code: flow.CodeQueueFull, After: 2 * time.Second}, 2 * time.Second},
		{flow.Error{Code: flow.CodeQueueFull}, 5 * time.Second},
		{flow.Error{Code: flow.CodeNotFound}, 0},
	} {
		if got := RetryAfter(&c.err); got != c.want {
			t.Errorf("%s with %s: %s, want %s", c.err.Code, c.err.After, got, c.want)
		}
	}
}
