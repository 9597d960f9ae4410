package nodes

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/outbound"
)

// service is a server on the loopback interface and the real client with access to it.
type service struct {
	*httptest.Server
	deps Deps
}

func serve(t *testing.T, handler http.HandlerFunc) service {
	t.Helper()
	server := httptest.NewServer(handler)
	client, err := outbound.New(outbound.Config{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return service{server, Deps{HTTP: client, Documents: testReader()}}
}

// call returns an http_request node that calls the service.
func (s service) call(config, ports map[string]any) use {
	all := map[string]any{"url": s.URL}
	maps.Copy(all, config)
	return use{kind: "http_request", config: all, ports: ports}
}

// echo responds with the request as JSON.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	headers := map[string]any{}
	for name := range r.Header {
		headers[name] = r.Header.Get(name)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(flow.EncodeJSON(map[string]any{"method": r.Method, "url": r.URL.String(), "headers": headers, "body": string(body)}))
}

func TestHTTPRequest(t *testing.T) {
	t.Parallel()
	s := serve(t, echo)
	for _, c := range []struct {
		name          string
		config, ports map[string]any
		want          map[string]string // path in the echo to its text
	}{
		{"a plain GET", nil, nil, map[string]string{"method": "GET", "url": "/", "body": "", "headers.Content-Type": "", "headers.Idempotency-Key": "", "headers.User-Agent": "Sluice"}},
		{"values in the URL are encoded", map[string]any{"url": s.URL + "/a/{{id}}?q={{q}}"}, map[string]any{"id": "x/../y", "q": "a&b=c d"},
			map[string]string{"url": "/a/x%2F..%2Fy?q=a%26b%3Dc%20d"}},
		{"the whole URL by an edge", nil, map[string]any{"url": s.URL + "/whole"}, map[string]string{"url": "/whole"}},
		{"the query is added", map[string]any{"url": s.URL + "/?a=1", "query": map[string]any{"b": "x y", "c": number("2"), "d": true}}, nil,
			map[string]string{"url": "/?a=1&b=x%20y&c=2&d=true"}},
		{"a query by an edge", nil, map[string]any{"query": map[string]any{"b": []any{"1", number("2"), nil}, "c": nil}}, map[string]string{"url": "/?b=1&b=2"}},
		{"headers", map[string]any{"headers": map[string]any{"X-One": "1", "accept": "text/x"}}, nil,
			map[string]string{"headers.X-One": "1", "headers.Accept": "text/x"}},
		{"an object is JSON, its places filled", map[string]any{"method": "POST", "body": map[string]any{"t": "{{t}}", "n": number("1.50")}}, map[string]any{"t": "a \"b\" </>"},
			map[string]string{"body": `{"n":1.50,"t":"a \"b\" </>"}`, "headers.Content-Type": typeJSON, "headers.Idempotency-Key": "run_1:n"}},
		{"text that is JSON is JSON, its places escaped", map[string]any{"method": "PUT", "body": `{"t": "{{t}}", "v": {{v}}}`}, map[string]any{"t": "\"\n", "v": []any{"x"}},
			map[string]string{"body": `{"t": "\"\n", "v": ["x"]}`, "headers.Content-Type": typeJSON}},
		{"other text is text", map[string]any{"method": "POST", "body": "Dear {{name}}"}, map[string]any{"name": "\"Ada\""},
			map[string]string{"body": `Dear "Ada"`, "headers.Content-Type": typeText}},
		{"a number in text is text", map[string]any{"method": "POST", "body": "42"}, nil, map[string]string{"body": "42", "headers.Content-Type": typeText}},
		{"a body by an edge", map[string]any{"method": "PATCH"}, map[string]any{"body": []any{true}}, map[string]string{"body": "[true]", "headers.Content-Type": typeJSON}},
		{"JSON text as text", map[string]any{"method": "POST", "body": "{}", "body_type": "text"}, nil, map[string]string{"body": "{}", "headers.Content-Type": typeText}},
		{"a quoted text as JSON", map[string]any{"method": "POST", "body": `"x"`, "body_type": "json"}, nil, map[string]string{"body": `"x"`, "headers.Content-Type": typeJSON}},
		{"a form", map[string]any{"method": "POST", "body": map[string]any{"a": "x y", "b": []any{number("1"), "2"}}, "body_type": "form"}, nil,
			map[string]string{"body": "a=x+y&b=1&b=2", "headers.Content-Type": typeForm}},
		{"a form as text", map[string]any{"method": "POST", "body": "a=1", "body_type": "form"}, nil, map[string]string{"body": "a=1", "headers.Content-Type": typeForm}},
		{"no body", map[string]any{"method": "DELETE", "body": "x", "body_type": "none"}, nil, map[string]string{"body": "", "headers.Content-Type": "", "method": "DELETE"}},
		{"a content type of its own", map[string]any{"method": "POST", "body": "x", "headers": map[string]any{"content-type": "text/csv"}}, nil, map[string]string{"headers.Content-Type": "text/csv"}},
		{"an idempotency key of its own", map[string]any{"method": "POST", "headers": map[string]any{"idempotency-key": "mine"}}, nil, map[string]string{"headers.Idempotency-Key": "mine"}},
		{"a method by an edge", nil, map[string]any{"method": "delete"}, map[string]string{"method": "DELETE"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			outputs := s.call(c.config, c.ports).succeeds(t, s.deps)
			for path, want := range c.want {
				if got := flow.Text(member(outputs["body"], path)); got != want {
					t.Errorf("%s: got %q, want %q", path, got, want)
				}
			}
		})
	}
}

// member follows a dotted path through objects.
func member(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		m, _ := flow.AsMap(v)
		v = m[name]
	}
	return v
}

func TestHTTPRequest_redacts_secrets(t *testing.T) {
	t.Parallel()
	var got string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fail" {
			w.WriteHeader(http.StatusForbidden)
		}
		got = r.Header.Get("Authorization")
		w.Header().Set("X-Echo", got)
		echo(w, r)
	})
	auth := func(name string) map[string]any {
		return map[string]any{"headers": map[string]any{"Authorization": map[string]any{"credential": name}}}
	}
	outputs := s.call(auth("api"), nil).succeeds(t, s.deps)
	const secret = "secret-of-default-api"
	if got != secret {
		t.Errorf("sent %q", got)
	}
	if all := string(flow.EncodeJSON(outputs)); strings.Contains(all, secret) {
		t.Errorf("the answer's echo is kept: %s", all)
	}
	same(t, "header", member(outputs["headers"], "x-echo"), flow.Redacted)

	config := auth("api")
	config["url"] = s.URL + "/fail"
	failure := s.call(config, nil).fails(t, s.deps, flow.CodeHTTPFailed)
	if has(t, failure.Message, "403", flow.Redacted); strings.Contains(failure.Message, secret) {
		t.Errorf("the error tells the secret: %s", failure.Message)
	}
	t.Run("are not cut in half", func(t *testing.T) {
		t.Parallel()
		long := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, strings.Repeat("x", maxAnswerShown-10)+r.Header.Get("Authorization"))
		})
		failure := long.call(auth("api"), nil).fails(t, long.deps, flow.CodeHTTPFailed)
		if strings.Contains(failure.Message, secret[:8]) {
			t.Errorf("the error tells half of the secret: %s", failure.Message)
		}
	})
	s.call(auth("missing"), nil).fails(t, s.deps, flow.CodeProviderAuth)

	u := s.call(nil, map[string]any{"headers": map[string]any{"X-Auth-Token": "by-an-edge", "X-Plain": "plain"}})
	if r := u.execute(t, s.deps); strings.Contains(string(flow.EncodeJSON([]any{r.Input["headers"], r.Outputs})), "by-an-edge") {
		t.Errorf("the record tells the secret: %v, %v", r.Input, r.Outputs)
	}
}

func TestHTTPRequest_reads_response(t *testing.T) {
	t.Parallel()
	const polish = "Zażółć gęślą jaźń. Pchnąć w tę łódź jeża lub ośm skrzyń fig. Każdy człowiek rodzi się wolny i równy pod względem godności."
	const polish1250 = "Za\xbf\xf3\xb3\xe6 g\xea\x9cl\xb9 ja\x9f\xf1. Pchn\xb9\xe6 w t\xea \xb3\xf3d\x9f je\xbfa lub o\x9cm skrzy\xf1 fig. Ka\xbfdy cz\xb3owiek rodzi si\xea wolny i r\xf3wny pod wzgl\xeadem godno\x9cci."
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answer := map[string][2]string{
			"/json":      {"application/json", `{"a": [1.50]}`},
			"/problem":   {"application/problem+json", `{"a": 1}`},
			"/broken":    {"application/json", `{"a": `},
			"/untyped":   {"text/plain", `{"a": 1}`},
			"/html":      {"text/html", "<p>ä\xff"},
			"/png":       {"image/png", "\x89PNG\xff\xfe"},
			"/latin":     {"text/plain; charset=iso-8859-1", "Z\xfcrich"},
			"/latinish":  {"application/x-report; charset=windows-1252", "\x80 7"},
			"/marked":    {"text/html", "<meta charset=windows-1252><p>\x80 7"},
			"/empty":     {"application/json", ""},
			"/created":   {"application/json", ""},
			"/blank":     {"application/json", "\r\n"},
			"/bom":       {"application/json", "\xef\xbb\xbf{\"a\": 1}"},
			"/onlybom":   {"application/json", "\xef\xbb\xbf"},
			"/utf16":     {"application/json", "\xff\xfe{\x00\"\x00a\x00\"\x00:\x00\"\x00\xe9\x00\"\x00}\x00"},
			"/latinjson": {"application/json; charset=iso-8859-1", "{\"a\": \"\xe9\"}"},
			"/odd":       {"application/json", "{\"a\":\"x\xffy\"}"},
			"/cookies":   {"text/plain", "x"},
			"/polish":    {"text/plain", polish1250},
			"/redirect":  {"text/plain", ""},
			"/nothing":   {"application/json", ""},
		}[r.URL.Path]
		w.Header().Set("Content-Type", answer[0])
		switch r.URL.Path {
		case "/redirect":
			w.Header().Set("Location", "/json")
			w.WriteHeader(http.StatusFound)
		case "/nothing":
			w.WriteHeader(http.StatusNoContent)
		case "/created":
			w.WriteHeader(http.StatusCreated)
		case "/cookies":
			w.Header()["X-Many"] = []string{"a", "b"}
			w.Header()["Set-Cookie"] = []string{"a=1; Expires=Wed, 01 Jan 2027 00:00:00 GMT", "b=2"}
		}
		_, _ = io.WriteString(w, answer[1])
	})
	for _, c := range []struct {
		path, response, method string
		want                   any
	}{
		{"/json", "auto", "GET", map[string]any{"a": []any{number("1.50")}}},
		{"/json", "text", "GET", `{"a": [1.50]}`},
		{"/json", "auto", "HEAD", nil},
		{"/problem", "auto", "GET", map[string]any{"a": number("1")}},
		{"/broken", "auto", "GET", `{"a": `},
		{"/untyped", "auto", "GET", `{"a": 1}`},
		{"/untyped", "json", "GET", map[string]any{"a": number("1")}},
		{"/html", "auto", "GET", "<p>ä\uFFFD"},
		{"/latin", "auto", "GET", "Zürich"},
		{"/latinish", "auto", "GET", "€ 7"},
		{"/marked", "text", "GET", "<meta charset=windows-1252><p>€ 7"},
		{"/empty", "auto", "GET", nil},
		{"/empty", "json", "GET", nil},
		{"/empty", "text", "GET", nil},
		{"/empty", "file", "GET", nil},
		{"/created", "json", "POST", nil},
		{"/created", "auto", "POST", nil},
		{"/created", "file", "POST", nil},
		{"/blank", "json", "GET", nil},
		{"/bom", "auto", "GET", map[string]any{"a": number("1")}},
		{"/bom", "json", "GET", map[string]any{"a": number("1")}},
		{"/bom", "text", "GET", `{"a": 1}`},
		{"/onlybom", "auto", "GET", nil},
		{"/utf16", "json", "GET", map[string]any{"a": "é"}},
		{"/latinjson", "auto", "GET", map[string]any{"a": "é"}},
		{"/odd", "auto", "GET", map[string]any{"a": "x\uFFFDy"}},
		{"/odd", "json", "GET", map[string]any{"a": "x\uFFFDy"}},
		{"/odd", "text", "GET", `{"a":"x�y"}`},
		{"/nothing", "json", "GET", nil},
		{"/redirect", "auto", "GET", map[string]any{"a": []any{number("1.50")}}},
	} {
		t.Run(c.method+c.path+" as "+c.response, func(t *testing.T) {
			t.Parallel()
			outputs := s.call(map[string]any{"url": s.URL + c.path, "response": c.response, "method": c.method}, nil).succeeds(t, s.deps)
			same(t, "body", outputs["body"], c.want)
		})
	}
	for _, c := range []struct {
		path, response, set, encoding string
		warnings                      int
		body                          any
	}{
		{"/json", "auto", "", "utf-8", 0, nil},
		{"/latin", "auto", "", "windows-1252", 0, nil}, // its superset, as in browsers
		{"/polish", "auto", "", "windows-1250", 1, polish},
		{"/polish", "auto", "windows-1250", "windows-1250", 0, polish},
		{"/odd", "auto", "", "utf-8", 1, nil},
		{"/empty", "auto", "", "", 0, nil},
		{"/polish", "file", "", "", 0, nil},
	} {
		t.Run("warnings of "+c.path+" as "+c.response+" "+c.set, func(t *testing.T) {
			t.Parallel()
			config := map[string]any{"url": s.URL + c.path, "response": c.response}
			if c.set != "" {
				config["encoding"] = c.set
			}
			outputs := s.call(config, nil).succeeds(t, s.deps)
			same(t, "encoding", outputs["encoding"], c.encoding)
			if list, ok := outputs["warnings"].([]any); !ok || len(list) != c.warnings {
				t.Errorf("warnings: got %v, want %d", outputs["warnings"], c.warnings)
			}
			if c.body != nil {
				same(t, "body", outputs["body"], c.body)
			}
		})
	}
	t.Run("headers are lowercase and repeated ones joined", func(t *testing.T) {
		t.Parallel()
		outputs := s.call(map[string]any{"url": s.URL + "/cookies"}, nil).succeeds(t, s.deps)
		same(t, "headers", member(outputs["headers"], "x-many"), "a, b")
		same(t, "status", outputs["status"], number("200"))
	})
	t.Run("refuses a picture as text", func(t *testing.T) {
		t.Parallel()
		has(t, s.call(map[string]any{"url": s.URL + "/png", "response": "text"}, nil).fails(t, s.deps, flow.CodeHTTPFailed).Message, "Set Response to file")
	})
	t.Run("cookies are a list", func(t *testing.T) {
		t.Parallel()
		outputs := s.call(map[string]any{"url": s.URL + "/cookies"}, nil).succeeds(t, s.deps)
		same(t, "cookies", member(outputs["headers"], "set-cookie"), []any{"a=1; Expires=Wed, 01 Jan 2027 00:00:00 GMT", "b=2"})
	})
	t.Run("returns an expected redirect", func(t *testing.T) {
		t.Parallel()
		outputs := s.call(map[string]any{"url": s.URL + "/redirect", "expect": []any{"302"}}, nil).succeeds(t, s.deps)
		same(t, "location", member(outputs["headers"], "location"), "/json")
	})
	for path, want := range map[string]string{"/png": "Set Response to file", "/broken": "not JSON"} {
		t.Run("refuses "+path, func(t *testing.T) {
			t.Parallel()
			response := map[string]string{"/png": "auto"}[path]
			if response == "" {
				response = "json"
			}
			has(t, s.call(map[string]any{"url": s.URL + path, "response": response}, nil).fails(t, s.deps, flow.CodeHTTPFailed).Message, want)
		})
	}
}

func TestHTTPRequest_checks_status(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", "Sat, 21 Nov 2026 12:00:00 GMT")
		if after := r.URL.Query().Get("after"); after != "" {
			w.Header().Set("Retry-After", after)
		}
		status := map[string]int{"/404": 404, "/429": 429, "/503": 503, "/201": 201}[r.URL.Path]
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "no\n "+strings.Repeat("é", 600))
	})
	for _, c := range []struct {
		path      string
		retryable bool
		after     time.Duration
	}{
		{"/404", false, 0},
		{"/429", true, 0},
		{"/429?after=7", true, 7 * time.Second},
		{"/503?after=Sat,+21+Nov+2026+12:02:00+GMT", true, 2 * time.Minute},
		{"/503?after=Sat,+21+Nov+2020+12:02:00+GMT", true, 0},
		{"/503?after=99999999", true, 24 * time.Hour},
		{"/503?after=soon", true, 0},
	} {
		t.Run(c.path, func(t *testing.T) {
			t.Parallel()
			in := &flow.In{Config: map[string]any{"method": "GET", "url": s.URL + c.path, "response": "auto"}}
			_, err := callService(t.Context(), s.deps.HTTP, in)
			failure := flow.AsError(err)
			if failure.Code != flow.CodeHTTPFailed || failure.Retryable != c.retryable || failure.After != c.after {
				t.Errorf("got %+v", failure)
			}
			has(t, failure.Message, "127.0.0.1 answered "+c.path[1:4]+" ", ": no é")
			if n := strings.Count(failure.Message, "é"); n != maxAnswerShown-3 {
				t.Errorf("quotes %d characters", n+3)
			}
		})
	}
	for path, expect := range map[string][]any{"/404": {"2xx", number("404")}, "/429": {"400-499"}, "/503": {"5XX"}, "/201": {number("201")}} {
		t.Run("expects "+path, func(t *testing.T) {
			t.Parallel()
			outputs := s.call(map[string]any{"url": s.URL + path, "expect": expect}, nil).succeeds(t, s.deps)
			same(t, "status", flow.Text(outputs["status"]), path[1:])
		})
	}
	s.call(map[string]any{"url": s.URL + "/201", "expect": []any{number("200")}}, nil).fails(t, s.deps, flow.CodeHTTPFailed)
}

func TestHTTPRequest_reports_errors(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler)
	})
	for _, c := range []struct {
		name      string
		config    map[string]any
		ports     map[string]any
		code      flow.Code
		retryable bool
		want      string
	}{
		{"private address", map[string]any{"url": "http://10.0.0.1/"}, nil, flow.CodeDestinationBlocked, false, "SLUICE_ALLOW_PRIVATE"},
		{"metadata address", nil, map[string]any{"url": "http://169.254.169.254/latest"}, flow.CodeDestinationBlocked, false, "SLUICE_ALLOW_PRIVATE"},
		{"broken connection", nil, nil, flow.CodeHTTPFailed, true, "127.0.0.1"},
		{"no URL", nil, map[string]any{"url": "nowhere"}, flow.CodeInputInvalid, false, "https://"},
		{"unknown method", nil, map[string]any{"method": "BREW"}, flow.CodeInputInvalid, false, `"BREW"`},
		{"invalid headers", nil, map[string]any{"headers": "X: 1"}, flow.CodeInputInvalid, false, "object"},
		{"a header with a line break", map[string]any{"headers": map[string]any{"X-A": "1\r\nX-B: 2"}}, nil, flow.CodeInputInvalid, false, "X-A"},
		{"an invalid query", nil, map[string]any{"query": []any{"a"}}, flow.CodeInputInvalid, false, `"query"`},
		{"an invalid form", map[string]any{"method": "POST", "body_type": "form"}, map[string]any{"body": []any{"a"}}, flow.CodeInputInvalid, false, `"body"`},
		{"a body that is not JSON", map[string]any{"method": "POST", "body_type": "json", "body": "hello"}, nil, flow.CodeInputInvalid, false, "hello"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			failure := s.call(c.config, c.ports).fails(t, s.deps, c.code)
			if failure.Retryable != c.retryable {
				t.Errorf("retryable is %v", failure.Retryable)
			}
			has(t, failure.Message, c.want)
		})
	}
	t.Run("a timeout is retryable", func(t *testing.T) {
		t.Parallel()
		failure := flow.AsError(requestError(timeoutOf(t, s)))
		if failure.Code != flow.CodeHTTPFailed || !failure.Retryable {
			t.Errorf("got %+v", failure)
		}
	})
	t.Run("cancellation reaches the service", func(t *testing.T) {
		t.Parallel()
		arrived, gone := make(chan struct{}), make(chan struct{})
		slow := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			close(arrived)
			<-r.Context().Done()
			close(gone)
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-arrived; cancel() }()
		_, err := callService(ctx, slow.deps.HTTP, &flow.In{Config: map[string]any{"method": "GET", "url": slow.URL}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		<-gone
	})
}

// timeoutOf returns the client's error for a service that takes too long.
func timeoutOf(t *testing.T, s service) error {
	_, err := s.deps.HTTP.Do(t.Context(), outbound.Request{URL: s.URL + "/wait", Timeout: time.Millisecond})
	if err == nil {
		t.Fatal("no timeout")
	}
	return err
}

func TestHTTPRequest_rejects_invalid_config(t *testing.T) {
	t.Parallel()
	const target = "https://example.com/"
	for pointer, config := range map[string]map[string]any{
		"/nodes/0/config/url":              {"url": "example.com"},
		"/nodes/0/config/method":           {"url": target, "method": "get"},
		"/nodes/0/config/headers/X~1A":     {"url": target, "headers": map[string]any{"X/A": "1"}},
		"/nodes/0/config/expect/1":         {"url": target, "expect": []any{"2xx", "6xx"}},
		"/nodes/0/config/expect/0":         {"url": target, "expect": []any{"300-200"}},
		"/nodes/0/config/body_type":        {"url": target, "body_type": "xml"},
		"/nodes/0/config/response":         {"url": target, "response": "xml"},
		"/nodes/0/config/query":            {"url": target, "query": "a=1"},
		"/nodes/0/config/signature_header": nil,
	} {
		if config == nil {
			config, pointer = map[string]any{}, "/nodes/0/config/url"
		}
		problems := use{kind: "http_request", config: config}.problems(t)
		if len(problems) != 1 || problems[0].Pointer != pointer {
			t.Errorf("%v: got %v, want one at %s", config, problems, pointer)
		}
	}
}

func TestSecretHeaderNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"Authorization": true, "cookie": true, "Proxy-Authorization": true, "X-API-Key": true, "X-Auth-Token": true, "My-Secret": true,
		"X-RapidAPI-Key": true, "x-functions-key": true, "Token": true, "ApiKey": true, "Password": true, "X-Signature": true, "X-Session-Id": true,
		"Accept": false, "X-Request-Id": false, "Content-Type": false, "Idempotency-Key": false, "X-Author": false, "X-Max-Tokens": false,
	} {
		if headersField.IsSecretName(name) != want {
			t.Errorf("%s: got %v", name, !want)
		}
	}
}
