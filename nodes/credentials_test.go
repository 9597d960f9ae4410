package nodes

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/value"
)

// boundVault has one credential, bound to the given hosts.
type boundVault []string

func (boundVault) ListCredentials(context.Context, flow.WorkspaceID) ([]flow.Credential, error) {
	return nil, nil
}

func (v boundVault) OpenCredential(_ context.Context, _ flow.WorkspaceID, name string) (flow.Credential, string, error) {
	return flow.Credential{Name: name, Hosts: v}, `s3cret/with "quotes"&more`, nil
}

const vaultSecret = `s3cret/with "quotes"&more`

func withVault(hosts ...string) *fixture {
	w := newFixture()
	w.credentials = boundVault(hosts)
	return w
}

// TestHTTPRequest_fills_in_credentials sends one credential from every place that can hold
// a reference, and finds it there and nowhere else.
func TestHTTPRequest_fills_in_credentials(t *testing.T) {
	t.Parallel()
	s := serve(t, echo)
	host := strings.TrimPrefix(s.URL, "http://")
	ref := map[string]any{"credential": "api"}
	for _, c := range []struct {
		name   string
		config map[string]any
		ports  map[string]any
		at     string
		want   string
	}{
		{"a header", map[string]any{"headers": map[string]any{"X-Plain": ref}}, nil, "headers.X-Plain", vaultSecret},
		{"inside a header", map[string]any{"headers": map[string]any{"Authorization": "Bearer {{credential:api}}"}}, nil, "headers.Authorization", "Bearer " + vaultSecret},
		{"the query", map[string]any{"query": map[string]any{"q": ref, "n": "1"}}, nil, "url", "/?n=1&q=" + strings.ReplaceAll(url.QueryEscape(vaultSecret), "+", "%20")},
		{"the query of the URL", map[string]any{"url": s.URL + "/x?a={{a}}&key={{credential:api}}"}, map[string]any{"a": "{{credential:api}}"}, "url",
			"/x?a=%7B%7Bcredential%3Aapi%7D%7D&key=" + strings.ReplaceAll(url.QueryEscape(vaultSecret), "+", "%20")},
		{"the path of the URL", map[string]any{"url": s.URL + "/bot{{credential:api}}/send"}, nil, "url", "/bots3cret/with%20%22quotes%22&more/send"},
		{"a JSON body", map[string]any{"method": "POST", "body": map[string]any{"auth": map[string]any{"token": ref}, "list": []any{ref}, "text": "x {{credential:api}}", "m": "{{m}}"}},
			map[string]any{"m": "{{credential:api}}"}, "body",
			`{"auth":{"token":"s3cret/with \"quotes\"&more"},"list":["s3cret/with \"quotes\"&more"],"m":"{{credential:api}}","text":"x s3cret/with \"quotes\"&more"}`},
		{"a JSON text", map[string]any{"method": "POST", "body": `{"a": {"credential": "api"}, "b": "x-{{credential:api}}", "m": "{{m}}", "v": {{v}}}`},
			map[string]any{"m": "{{credential:api}}", "v": "{{credential:api}}"}, "body",
			`{"a": "s3cret/with \"quotes\"&more", "b": "x-s3cret/with \"quotes\"&more", "m": "{{credential:api}}", "v": "{{credential:api}}"}`},
		{"a form", map[string]any{"method": "POST", "body_type": "form", "body": map[string]any{"client_secret": ref}}, nil, "body", "client_secret=" + url.QueryEscape(vaultSecret)},
		{"a form as text", map[string]any{"method": "POST", "body_type": "form", "body": "a=1&client_secret={{credential:api}}"}, nil, "body", "a=1&client_secret=" + url.QueryEscape(vaultSecret)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var sent any
			seen := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				headers := map[string]any{}
				for name := range r.Header {
					headers[name] = r.Header.Get(name)
				}
				sent = map[string]any{"url": r.URL.RequestURI(), "headers": headers, "body": string(body)}
			})
			if text, ok := c.config["url"].(string); ok {
				c.config["url"] = strings.Replace(text, s.URL, seen.URL, 1)
			}
			r := seen.call(c.config, c.ports).executeIn(t, withVault(strings.Replace(host, host, strings.TrimPrefix(seen.URL, "http://"), 1)), seen.deps)
			if r.State != flow.StepSucceeded {
				t.Fatalf("%v", r.Error)
			}
			same(t, c.at, member(sent, c.at), c.want)
			if record := string(flow.EncodeJSON(r.Input)); strings.Contains(record, "s3cret") {
				t.Errorf("the record has the secret: %s", record)
			}
		})
	}
}

// A request with a credential to another host must not be sent at all.
func TestHTTPRequest_sends_credentials_only_to_their_hosts(t *testing.T) {
	t.Parallel()
	calls := 0
	s := serve(t, func(http.ResponseWriter, *http.Request) { calls++ })
	ref := map[string]any{"credential": "api"}
	for name, config := range map[string]map[string]any{
		"header": {"headers": map[string]any{"X-A": ref}}, "query": {"query": map[string]any{"a": ref}}, "url": {"url": s.URL + "/{{credential:api}}"},
		"body": {"method": "POST", "body": map[string]any{"a": ref}}, "text": {"method": "POST", "body": `{"a": "{{credential:api}}"}`},
	} {
		for _, hosts := range [][]string{{"api.example.com"}, {"127.0.0.1:1"}, {"*.0.0.1"}} {
			r := s.call(config, nil).executeIn(t, withVault(hosts...), s.deps)
			if r.Error == nil || r.Error.Code != flow.CodeProviderAuth || !strings.Contains(r.Error.Message, `"api"`) || !strings.Contains(r.Error.Message, "127.0.0.1") {
				t.Errorf("%s bound to %v: %v", name, hosts, r.Error)
			}
		}
	}
	whole := s.call(map[string]any{"headers": map[string]any{"X-A": ref}}, map[string]any{"url": s.URL + "/x"})
	if r := whole.executeIn(t, withVault("api.example.com"), s.deps); r.Error == nil || r.Error.Code != flow.CodeProviderAuth {
		t.Errorf("a URL by an edge: %v", r.Error)
	}
	if calls != 0 {
		t.Errorf("%d requests arrived", calls)
	}
	inHost := use{kind: "http_request", config: map[string]any{"url": "http://{{credential:api}}.example.com/"}}
	if r := inHost.executeIn(t, withVault("x.example.com"), s.deps); r.Error == nil || r.Error.Code != flow.CodeInputInvalid {
		t.Errorf("a credential in the host: %v", r.Error)
	}
}

// TestHTTPRequest_rejects_references_as_data checks that data from a caller cannot choose a
// credential, not even one that the node uses, and is not sent as if it were a secret.
func TestHTTPRequest_rejects_references_as_data(t *testing.T) {
	t.Parallel()
	s := serve(t, echo)
	ref := map[string]any{"credential": "api"}
	own := map[string]any{"method": "POST", "headers": map[string]any{"Authorization": ref}}
	for port, value := range map[string]any{"headers": map[string]any{"X-A": ref}, "query": map[string]any{"a": ref}, "body": map[string]any{"note": ref}} {
		r := s.call(own, map[string]any{port: value}).executeIn(t, withVault(), s.deps)
		if r.Error == nil || r.Error.Code != flow.CodeInputInvalid || !strings.Contains(r.Error.Message, "came as data") {
			t.Errorf("%s: %v, %v", port, r.Error, r.Outputs)
		}
	}
}

// TestHTTPRequest_does_not_redirect_secret_body checks that a redirect that repeats the body is
// followed only if the body contains no credential.
func TestHTTPRequest_does_not_redirect_secret_body(t *testing.T) {
	t.Parallel()
	arrived := 0
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { arrived++ }))
	t.Cleanup(other.Close)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	config := map[string]any{"method": "POST", "body": map[string]any{"password": map[string]any{"credential": "api"}}}
	r := s.call(config, nil).executeIn(t, withVault("127.0.0.1"), s.deps)
	if r.Error == nil || arrived != 0 || !strings.Contains(r.Error.Message, "another host") {
		t.Errorf("%v, and %d requests arrived", r.Error, arrived)
	}
	config["body"] = map[string]any{"name": "Ada"}
	if r := s.call(config, nil).executeIn(t, withVault("127.0.0.1"), s.deps); r.Error != nil || arrived != 1 {
		t.Errorf("%v, and %d requests arrived", r.Error, arrived)
	}
}

func TestWebPage_fills_in_credentials(t *testing.T) {
	t.Parallel()
	u := use{kind: "web_page", config: map[string]any{"url": "https://example.com/feed?token={{credential:feed}}"}}
	if r := u.executeIn(t, withVault("example.org"), fakes()); r.Error == nil || r.Error.Code != flow.CodeProviderAuth {
		t.Errorf("another host: %v", r.Error)
	}
	r := u.executeIn(t, withVault("example.com"), fakes())
	if r.State != flow.StepSucceeded || strings.Contains(string(flow.EncodeJSON(r.Outputs)), "s3cret") {
		t.Errorf("%v %v", r.Error, r.Outputs)
	}
}

// TestExtractSecrets_from_URLs_of_other_kinds checks that kinds other than http_request
// extract secrets from URLs too, without changing the resolved URL.
func TestExtractSecrets_from_URLs_of_other_kinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, config, want, secrets string }{
		{"webhook", `{"url": "https://example.com/in?token=k%201&page=2"}`, `{"url":"https://example.com/in?token={{credential:c1}}&page=2"}`, "k 1@example.com"},
		{"webhook", `{"url": "https://ada:p%40ss@example.com/in"}`,
			`{"signature":{"credential":"c1"},"signature_header":"Authorization","url":"https://example.com/in"}`, "Basic YWRhOnBAc3M=@example.com"},
		{"webhook", `{"url": "https://ada:pass@example.com/in", "signature": {"credential": "mine"}}`,
			`{"signature":{"credential":"mine"},"url":"https://{{credential:c1}}@example.com/in"}`, "ada:pass@example.com"},
		{"file", `{"url": "https://example.com/a.pdf?sig=k1"}`, `{"url":"https://example.com/a.pdf?sig={{credential:c1}}"}`, "k1@example.com"},
		{"document", `{"file": "https://example.com/a.pdf?sig=k1"}`, `{"file":"https://example.com/a.pdf?sig={{credential:c1}}"}`, "k1@example.com"},
		{"document", `{"file": "https://ada:pass@example.com/a.pdf"}`, `{"file":"https://{{credential:c1}}@example.com/a.pdf"}`, "ada:pass@example.com"},
		{"chat", `{"model": "openai/gpt-5", "images": ["https://example.com/a.png?sig=k1", {"file_id": "f"}, "https://example.org/b.png"]}`,
			`{"images":["https://example.com/a.png?sig={{credential:c1}}",{"file_id":"f"},"https://example.org/b.png"],"model":"openai/gpt-5"}`, "k1@example.com"},
		{"image", `{"mask": "https://example.com/a.png?sig=k1"}`, `{"mask":"https://example.com/a.png?sig={{credential:c1}}"}`, "k1@example.com"},
		{"transcribe", `{"audio": "https://example.com/a.mp3?sig=k1"}`, `{"audio":"https://example.com/a.mp3?sig={{credential:c1}}"}`, "k1@example.com"},
		{"web_page", `{"url": "https://example.com/{{page}}?sig={{s}}&key=k1"}`, `{"url":"https://example.com/{{page}}?sig={{s}}&key={{credential:c1}}"}`, "k1@example.com"},
	} {
		wantLifted(t, c.kind, c.config, c.want, c.secrets)
	}
}

// wantLifted extracts the secrets of a node and compares the remaining config, and the
// secrets with the hosts that they are bound to.
func wantLifted(t *testing.T, kind, config, want, secrets string) {
	t.Helper()
	decoded, err := flow.DecodeJSON([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	members, _ := flow.AsMap(decoded)
	doc := &flow.Document{Nodes: []flow.Node{{ID: "n", Kind: kind, Config: members}}}
	names := 0
	lifted := document.ExtractSecrets(doc, New(Deps{}), func(*document.ExtractedSecret) string { names++; return "c" + string(rune('0'+names)) })
	var found []string
	for _, l := range lifted {
		found = append(found, l.Secret+"@"+l.Host)
	}
	if got := strings.Join(found, " "); got != secrets {
		t.Errorf("%s: found %q, want %q", kind, got, secrets)
	}
	if got := string(value.Canonical(doc.Nodes[0].Config)); got != strings.ReplaceAll(want, `\u0026`, "&") {
		t.Errorf("%s: got  %s\nwant %s", kind, got, want)
	}
	if document.HasLiteralSecrets(doc, New(Deps{})) {
		t.Errorf("%s: a second look finds more", kind)
	}
}

// TestKinds_extract_secrets_from_all_URLs checks that every URL field declares that secrets
// are extracted from it.
func TestKinds_extract_secrets_from_all_URLs(t *testing.T) {
	t.Parallel()
	kinds := New(Deps{})
	for _, k := range kinds.List() {
		for i := range k.Fields {
			f := &k.Fields[i]
			if (f.Name == "url" || f.Escape == flow.EscapeURL) && (f.Secrets != flow.SecretsInURL || k.Sends == nil) {
				t.Errorf("%s.%s: secrets are not looked for in its URL", k.Name, f.Name)
			}
		}
	}
}

// TestCheckURL_rejects_user_info even if the password was extracted.
func TestCheckURL_rejects_user_info(t *testing.T) {
	t.Parallel()
	for kind, field := range map[string]string{"webhook": "url", "file": "url", "document": "file", "web_page": "url", "http_request": "url"} {
		for _, userInfo := range []string{"ada:pass", "{{credential:c}}"} {
			problems := use{kind: kind, config: map[string]any{field: "https://" + userInfo + "@example.com/a"}}.problems(t)
			if len(problems) == 0 || problems[0].Pointer != "/nodes/0/config/"+field || !strings.Contains(problems[0].Detail, "user name or password") {
				t.Errorf("%s with %s: %v", kind, userInfo, problems)
			}
		}
	}
}

// TestFetch_fills_in_credentials reads a file and a document whose URL has a secret.
func TestFetch_fills_in_credentials(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("sig") != vaultSecret {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "the text")
	})
	address := s.URL + "/a.txt?sig={{credential:api}}"
	for _, u := range []use{{kind: "file", config: map[string]any{"url": address}}, {kind: "document", config: map[string]any{"file": address}}} {
		r := u.executeIn(t, withVault("127.0.0.1"), s.deps)
		if r.State != flow.StepSucceeded {
			t.Fatalf("%s: %v", u.kind, r.Error)
		}
		if all := string(flow.EncodeJSON([]any{r.Input, r.Outputs})); strings.Contains(all, "s3cret") || !strings.Contains(string(flow.EncodeJSON(r.Input)), "{{credential:api}}") {
			t.Errorf("%s: the record is %s", u.kind, all)
		}
		if r := u.executeIn(t, withVault("example.com"), s.deps); r.Error == nil || r.Error.Code != flow.CodeProviderAuth {
			t.Errorf("%s sent it to another host: %v", u.kind, r.Error)
		}
		byEdge := use{kind: u.kind, ports: map[string]any{}}
		for field := range u.config {
			byEdge.ports[field] = address
		}
		if r := byEdge.executeIn(t, withVault("127.0.0.1"), s.deps); r.Error == nil || !strings.Contains(r.Error.Message, "403") {
			t.Errorf("%s followed a reference that came by an edge: %v", u.kind, r.Error)
		}
	}
}

// TestImages_fill_in_credentials checks that a typed image URL is downloaded with its
// credential, which is sent only to the host of the URL and never to the model.
func TestImages_fill_in_credentials(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("sig") != vaultSecret {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "image/png")
		io.WriteString(w, "a picture")
	})
	address := s.URL + "/a.png?sig={{credential:api}}"
	gather := func(in *flow.In, hosts ...string) error {
		in.Secret = func(_ context.Context, ref any, host string) (string, error) {
			if name, _ := flow.SecretRef(ref); name != "api" || len(hosts) == 0 || host != hosts[0] {
				return "", flow.Errorf(flow.CodeProviderAuth, "not for %s", host)
			}
			return vaultSecret, nil
		}
		list, err := s.deps.images(t.Context(), in, "images", true)
		if err == nil && (len(list) != 1 || list[0].URL != "" || list[0].Open == nil) {
			t.Errorf("got %+v", list)
		}
		return err
	}
	typed := map[string]any{"images": []any{address}}
	if err := gather(&flow.In{Config: typed}, strings.TrimPrefix(s.URL, "http://")); err != nil {
		t.Error(err)
	}
	if err := gather(&flow.In{Config: typed}, "api.openai.com:443"); flow.AsError(err).Code != flow.CodeProviderAuth {
		t.Errorf("to another host: %v", err)
	}
	byEdge := &flow.In{Config: typed, Ports: typed}
	list, err := s.deps.images(t.Context(), byEdge, "images", true)
	if err != nil || len(list) != 1 || strings.Contains(list[0].URL, "s3cret") {
		t.Errorf("by an edge: %v %v", list, err)
	}

	doc := &flow.Document{Nodes: []flow.Node{{ID: "n", Kind: "chat", Config: map[string]any{"model": "openai/gpt-5", "images": []any{address}, "credential": map[string]any{"credential": "mine"}}}}}
	same(t, "the model's host", document.DestinationOf(doc, &doc.Nodes[0], New(Deps{}).For(&doc.Nodes[0])), []string{"api.openai.com"})
}

// TestExtractSecrets_from_HTTP_request checks that secrets typed anywhere in a request
// are extracted from the document without changing the request.
func TestExtractSecrets_from_HTTP_request(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, config, want, secrets string }{
		{"headers", `{"url": "https://api.example.com", "headers": {"X-RapidAPI-Key": "k1", "Accept": "text/plain", "Idempotency-Key": "i", "Authorization": {"credential": "mine"}, "X-Token": "Bearer {{credential:mine}}"}}`,
			`{"headers":{"Accept":"text/plain","Authorization":{"credential":"mine"},"Idempotency-Key":"i","X-RapidAPI-Key":{"credential":"c1"},"X-Token":"Bearer {{credential:mine}}"},"url":"https://api.example.com"}`, "k1@api.example.com"},
		{"query", `{"url": "https://api.example.com:8443/x", "query": {"api_key": "k1", "page": "2"}}`,
			`{"query":{"api_key":{"credential":"c1"},"page":"2"},"url":"https://api.example.com:8443/x"}`, "k1@api.example.com:8443"},
		{"URL", `{"url": "https://api.example.com/x?key=k%201&page=2&token={{t}}#f"}`,
			`{"url":"https://api.example.com/x?key={{credential:c1}}&page=2&token={{t}}#f"}`, "k 1@api.example.com"},
		{"user and password", `{"url": "https://ada:p%40ss@api.example.com/x"}`,
			`{"headers":{"Authorization":{"credential":"c1"}},"url":"https://api.example.com/x"}`, "Basic YWRhOnBAc3M=@api.example.com"},
		{"a JSON body", `{"url": "https://{{tenant}}.example.com", "body": {"login": {"user": "ada", "password": "p"}, "max_tokens": "5", "list": [{"name": "api-key", "value": "v"}], "key": "color"}}`,
			`{"body":{"key":"color","list":[{"name":"api-key","value":{"credential":"c2"}}],"login":{"password":{"credential":"c1"},"user":"ada"},"max_tokens":"5"},"url":"https://{{tenant}}.example.com"}`, "p@ v@"},
		{"a JSON text", `{"url": "https://api.example.com", "body": "{\"user\": \"{{u}}\", \"n\": {{n}}, \"password\" : \"a\\\"b\", \"token\": \"{{t}}\", \"secret\": {\"credential\": \"mine\"}}"}`,
			`{"body":"{\"user\": \"{{u}}\", \"n\": {{n}}, \"password\" : \"{{credential:c1}}\", \"token\": \"{{t}}\", \"secret\": {\"credential\": \"mine\"}}","url":"https://api.example.com"}`, `a"b@api.example.com`},
		{"a form", `{"url": "https://api.example.com", "body_type": "form", "body": "grant_type=client_credentials&client_secret=a%2Bb"}`,
			`{"body":"grant_type=client_credentials\u0026client_secret={{credential:c1}}","body_type":"form","url":"https://api.example.com"}`, "a+b@api.example.com"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantLifted(t, "http_request", c.config, c.want, c.secrets)
		})
	}
}

// TestHTTPRequest_redirect_drops_secret_headers checks that a redirect drops at least
// the headers whose values are extracted from documents.
func TestHTTPRequest_redirect_drops_secret_headers(t *testing.T) {
	t.Parallel()
	names := []string{"Authorization", "Cookie", "X-RapidAPI-Key", "x-functions-key", "Token", "ApiKey", "Password", "X-Pass", "Pwd", "X-Sig", "X-Jwt", "X-Otp", "X-Creds", "X-Sid", "X-Hmac", "X-Session-Id", "Passphrase"}
	var got http.Header
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Clone() }))
	t.Cleanup(other.Close)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) })
	headers := map[string]any{"Accept": "text/plain"}
	for _, name := range names {
		if !flow.IsSecretName(name) {
			t.Errorf("%s is no secret name", name)
		}
		headers[name] = "s3cret-value"
	}
	if r := s.call(nil, map[string]any{"headers": headers}).execute(t, s.deps); r.Error != nil || got.Get("Accept") == "" {
		t.Fatalf("%v %v", r.Error, got)
	}
	for name, values := range got {
		if strings.Contains(strings.Join(values, ""), "s3cret") {
			t.Errorf("%s was sent to another host", name)
		}
	}
}
