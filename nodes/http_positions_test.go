package nodes

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"sluice/flow"
)

// wireLine answers with the request line and the body exactly as they arrived.
func wireLine(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(flow.EncodeJSON(map[string]any{"line": r.Method + " " + r.RequestURI, "body": string(body), "type": r.Header.Get("Content-Type"), "many": r.Header["X-Many"]}))
}

// TestHTTPRequest_encodes_by_position puts text into every position of a request and checks
// what arrives.
func TestHTTPRequest_encodes_by_position(t *testing.T) {
	t.Parallel()
	s := serve(t, wireLine)
	const nasty = `a+b&admin=true#x?y/z%41"|^{}ü`
	form := map[string]any{"method": "POST", "body_type": "form"}
	with := func(config map[string]any, more ...any) map[string]any {
		out := map[string]any{}
		for name, value := range config {
			out[name] = value
		}
		for i := 0; i < len(more); i += 2 {
			out[more[i].(string)] = more[i+1]
		}
		return out
	}
	const encoded = "a%2Bb%26admin%3Dtrue%23x%3Fy%2Fz%2541%22%7C%5E%7B%7D%C3%BC"
	for _, c := range []struct {
		name          string
		config, ports map[string]any
		at, want      string
	}{
		{"a path segment", with(nil, "url", s.URL+"/a/{{v}}/b"), map[string]any{"v": nasty}, "line", "GET /a/" + encoded + "/b"},
		{"a part of a path segment", with(nil, "url", s.URL+"/a/x{{v}}.json"), map[string]any{"v": ".."}, "line", "GET /a/x...json"},
		{"an empty part of a path segment", with(nil, "url", s.URL+"/a/x{{v}}"), map[string]any{"v": ""}, "line", "GET /a/x"},
		{"a query value", with(nil, "url", s.URL+"/?q={{v}}"), map[string]any{"v": nasty}, "line", "GET /?q=" + encoded},
		{"dots in a query", with(nil, "url", s.URL+"/?q={{v}}&e={{e}}"), map[string]any{"v": "..", "e": ""}, "line", "GET /?q=..&e="},
		{"a list and null in the query", with(nil, "query", map[string]any{"tags[]": []any{"a b", number("2"), nil, "&"}, "n": nil, "e": ""}), nil, "line", "GET /?e=&tags%5B%5D=a%20b&tags%5B%5D=2&tags%5B%5D=%26"},
		{"a typed query", with(nil, "url", s.URL+`/echo?q=ü&f={"a":1}|b^c&p=100%&g=%7B&s=[x]`), nil, "line", `GET /echo?q=%C3%BC&f=%7B%22a%22:1%7D%7Cb%5Ec&p=100%25&g=%7B&s=%5Bx%5D`},
		{"a typed path", with(nil, "url", s.URL+"/100%/ü/{x}?y"), nil, "line", "GET /100%25/%C3%BC/%7Bx%7D?y"},
		{"a form in a text", with(form, "body", "grant=x&scope={{v}}"), map[string]any{"v": nasty}, "body", "grant=x&scope=" + encoded},
		{"a space in a form", with(form, "body", "a={{v}}&b=c d\n"), map[string]any{"v": "x y\n"}, "body", "a=x+y%0A&b=c+d"},
		{"a name in a form", with(form, "body", "{{v}}=1"), map[string]any{"v": "a=b&c"}, "body", "a%3Db%26c=1"},
		{"a typed form", with(form, "body", `q=ü&f={"a":1}&p=100%&g=%7B+`), nil, "body", "q=%C3%BC&f=%7B%22a%22:1%7D&p=100%25&g=%7B+"},
		{"a whole form as data", with(form, "body", "{{v}}"), map[string]any{"v": "a=1&b=2"}, "body", "a=1&b=2"},
		{"a form as an object", with(form, "body", map[string]any{"a": []any{"1", nil, "{{v}}"}, "n": nil}), map[string]any{"v": nasty}, "body", "a=1&a=" + encoded},
		{"a form by its content type", map[string]any{"method": "POST", "headers": map[string]any{"content-type": "application/x-www-form-urlencoded; charset=utf-8"}, "body": "a={{v}}"}, map[string]any{"v": nasty}, "body", "a=" + encoded},
		{"an object by its content type", map[string]any{"method": "POST", "headers": map[string]any{"Content-Type": typeForm}, "body": map[string]any{"a": "{{v}}"}}, map[string]any{"v": nasty}, "body", "a=" + encoded},
		{"a JSON string", with(nil, "method", "POST", "body", `{"a": "{{v}}"}`), map[string]any{"v": "\"\\\n,\"b\":1"}, "body", `{"a": "\"\\\n,\"b\":1"}`},
		{"headers with a list", with(nil, "headers", map[string]any{"X-Many": []any{"a", nil, number("2")}, "X-None": nil}), nil, "many", `["a","2"]`},
		{"the host", with(nil, "url", strings.Replace(s.URL, "127", "{{v}}", 1)+"/x"), map[string]any{"v": "127"}, "line", "GET /x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			outputs := s.call(c.config, c.ports).succeeds(t, s.deps)
			same(t, c.at, flow.Text(member(outputs["body"], c.at)), c.want)
		})
	}
}

// TestHTTPRequest_rejects_values checks that a value cannot change the resource or the host of a
// request. No request may arrive.
func TestHTTPRequest_rejects_values(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s arrived", r.RequestURI) })
	for _, c := range []struct {
		url   string
		ports map[string]any
		want  string
	}{
		{"/customers/{{id}}/orders", map[string]any{"id": ".."}, "{{id}}"},
		{"/customers/{{id}}/orders", map[string]any{"id": "."}, "{{id}}"},
		{"/tickets/{{id}}", map[string]any{"id": ""}, "is empty"},
		{"/tickets/{{o.id}}", map[string]any{"o": map[string]any{"id": nil}}, "is empty"},
		{"/tickets/{{id}}?x=1", map[string]any{"id": ""}, "is empty"},
		{"/{{id}}", map[string]any{"id": ".."}, "{{id}}"},
		{"/a/{{x}}{{y}}/b", map[string]any{"x": ".", "y": "."}, "{{x}}"},
		{"/a/.{{x}}", map[string]any{"x": "."}, "{{x}}"},
		{"/a/%2e{{x}}", map[string]any{"x": "."}, "{{x}}"},
		{"/a/{{o.id}}/b#f", map[string]any{"o": map[string]any{"id": ".."}}, "{{o.id}}"},
	} {
		for _, method := range []string{"GET", "DELETE"} {
			failure := s.call(map[string]any{"method": method, "url": s.URL + c.url}, c.ports).fails(t, s.deps, flow.CodeInputInvalid)
			has(t, failure.Message, c.want)
		}
	}
	for _, host := range []string{"evil.example/", "evil.example#", "a@b", "a:1", "a b", "%2e", `a\b`, "a?b"} {
		use{kind: "http_request", config: map[string]any{"url": "https://{{h}}.example.com/x"}, ports: map[string]any{"h": host}}.fails(t, s.deps, flow.CodeInputInvalid)
	}
	for _, kind := range []string{"file", "web_page"} {
		use{kind: kind, config: map[string]any{"url": s.URL + "/docs/{{id}}/x"}, ports: map[string]any{"id": ".."}}.fails(t, s.deps, flow.CodeInputInvalid)
	}
}

// TestHTTPRequest_keeps_method_of_redirects writes through a redirect.
func TestHTTPRequest_keeps_method_of_redirects(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/r302" {
			http.Redirect(w, r, "/echo", http.StatusFound)
			return
		}
		wireLine(w, r)
	})
	for _, method := range []string{"PUT", "PATCH", "DELETE"} {
		outputs := s.call(map[string]any{"method": method, "url": s.URL + "/r302", "body": map[string]any{"a": number("1")}}, nil).succeeds(t, s.deps)
		same(t, "line", member(outputs["body"], "line"), method+" /echo")
		same(t, "body", member(outputs["body"], "body"), `{"a":1}`)
		same(t, "type", member(outputs["body"], "type"), typeJSON)
	}
}
