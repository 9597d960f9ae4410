package library

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/flowtest"
)

// memoryCredentials is a store of credentials whose secrets are "secret of NAME".
type memoryCredentials []flow.Credential

func (s memoryCredentials) ListCredentials(context.Context, flow.WorkspaceID) ([]flow.Credential, error) {
	return s, nil
}

func (s memoryCredentials) OpenCredential(_ context.Context, _ flow.WorkspaceID, name string) (flow.Credential, string, error) {
	for _, c := range s {
		if c.Name == name {
			return c, "secret of " + name, nil
		}
	}
	return flow.Credential{}, "", flow.Errorf(flow.CodeNotFound, "There is no such credential.")
}

func TestResolverAccess(t *testing.T) {
	t.Parallel()
	env := map[string]flow.Access{"openai": {Provider: "openai", Name: "OPENAI_API_KEY", Secret: "from the environment"}}
	team := flow.Credential{ID: "cred_1", Name: "team", Provider: "openai", CreatedAt: time.Unix(1, 0)}
	spare := flow.Credential{ID: "cred_2", Name: "a-spare", Provider: "openai", CreatedAt: time.Unix(2, 0)}
	own := flow.Credential{Name: "openai", Provider: "openai"}
	gateway := flow.Credential{Name: "gateway", Provider: "openai_compatible", BaseURL: "http://10.0.0.8/v1", Trusted: true}
	ref := func(name string) any { return map[string]any{"credential": name} }
	tests := []struct {
		name     string
		store    memoryCredentials
		ws       flow.WorkspaceID
		provider string
		ref      any
		secret   string
		code     flow.Code
		none     bool
	}{
		{"the credential that is named", memoryCredentials{own, team}, flow.DefaultWorkspace, "openai", ref("team"), "secret of team", "", false},
		{"the provider's namesake first", memoryCredentials{team, own}, flow.DefaultWorkspace, "openai", nil, "secret of openai", "", false},
		{"else the first that was made for it", memoryCredentials{spare, team}, flow.DefaultWorkspace, "openai", nil, "secret of team", "", false},
		{"a credential as a provider of its own", memoryCredentials{gateway}, flow.DefaultWorkspace, "gateway", nil, "secret of gateway", "", false},
		{"the environment last", memoryCredentials{gateway}, flow.DefaultWorkspace, "openai", nil, "from the environment", "", false},
		{"the environment is the operator's alone", nil, "ws_other", "openai", nil, "", "", true},
		{"nothing", nil, flow.DefaultWorkspace, "mistral", nil, "", "", true},
		{"a plain secret is not for a provider of its name", memoryCredentials{{Name: "mistral"}}, flow.DefaultWorkspace, "mistral", nil, "", "", true},
		{"a name that is not there", memoryCredentials{own}, flow.DefaultWorkspace, "openai", ref("gone"), "", flow.CodeProviderAuth, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &flow.Resolver{Store: tt.store, Environment: env}
			a, err := r.Access(t.Context(), tt.ws, tt.provider, tt.ref)
			switch {
			case tt.none:
				if !errors.Is(err, flow.ErrNoAccess) {
					t.Fatalf("got %v, %v", a, err)
				}
			case tt.code != "":
				if flow.AsError(err).Code != tt.code {
					t.Fatalf("got %v, %v", a, err)
				}
			case err != nil || a.Secret != tt.secret:
				t.Fatalf("got %q, %v; want %q", a.Secret, err, tt.secret)
			}
		})
	}
}

func TestResolverReachesWhatTheOperatorEntered(t *testing.T) {
	t.Parallel()
	var reached []string
	r := &flow.Resolver{
		Store: memoryCredentials{
			{Name: "mine", Provider: "vllm", BaseURL: "http://gpu:8000/v1", Trusted: true},
			{Name: "theirs", Provider: "vllm", BaseURL: "http://10.0.0.1/v1"},
			{Name: "lost", Provider: "vllm", BaseURL: "http://nowhere/v1", Trusted: true},
		},
		Reach: func(_ context.Context, baseURL string) error {
			if reached = append(reached, baseURL); baseURL == "http://nowhere/v1" {
				return errors.New("the name nowhere cannot be resolved")
			}
			return nil
		},
	}
	for _, name := range []string{"mine", "theirs"} {
		if _, err := r.Access(t.Context(), flow.DefaultWorkspace, name, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(reached) != 1 || reached[0] != "http://gpu:8000/v1" {
		t.Errorf("let through: %v", reached)
	}
	if _, err := r.Access(t.Context(), flow.DefaultWorkspace, "lost", nil); flow.AsError(err).Code != flow.CodeProviderUnavailable {
		t.Errorf("got %v", err)
	}
}

func TestResolverSecretIsBoundToHosts(t *testing.T) {
	t.Parallel()
	r := &flow.Resolver{Store: memoryCredentials{{Name: "bound", Hosts: []string{"api.example.com"}}, {Name: "free"}}}
	tests := []struct {
		name, host string
		allowed    bool
	}{
		{"bound", "api.example.com", true},
		{"bound", "API.Example.com", true},
		{"bound", "", true},
		{"bound", "evil.example.com", false},
		{"bound", "api.example.com.evil.org", false},
		{"free", "anywhere.example", true},
	}
	for _, tt := range tests {
		secret, err := r.Secret(t.Context(), flow.DefaultWorkspace, tt.name, tt.host)
		if tt.allowed && (err != nil || secret != "secret of "+tt.name) || !tt.allowed && (flow.AsError(err).Code != flow.CodeProviderAuth || secret != "") {
			t.Errorf("%s for %q: %q, %v", tt.name, tt.host, secret, err)
		}
	}
}

// callKind makes a request: it sends credentials to the host of its URL.
var callKind = flow.Kind{
	Name: "request", Title: "Request", Group: "Test", Summary: "Calls a host.", Class: flow.Outside,
	Fields: []flow.Field{
		{Name: "url", Type: flow.FieldText, Required: true, Template: true, Escape: flow.EscapeURL, Secrets: flow.SecretsInURL},
		{Name: "headers", Type: flow.FieldMap, Secrets: flow.SecretsByName},
		{Name: "body", Type: flow.FieldArea, Value: flow.TypeAny, Template: true, Escape: flow.EscapeJSON, Secrets: flow.SecretsByName},
		{Name: "signing", Type: flow.FieldSecret, Signs: true},
	},
	Outputs: []flow.Port{{Name: "body", Type: flow.TypeAny}},
	Sends:   &flow.Destination{Field: "url", Hosts: flow.URLHost("url")},
	Run:     func(context.Context, *flow.In) (flow.Out, error) { return flow.Out{}, nil },
}

func requestLibrary() (*Library, *memoryStore) {
	l, s := newLibrary()
	l.Kinds = flowtest.KindsAnd(callKind)
	for name, hosts := range map[string][]string{"open": nil, "bound": {"api.example.com"}, "wide": {"*.example.com:443"}} {
		s.credentials[name] = flow.Credential{WorkspaceID: "ws", Name: name, Hosts: hosts}
	}
	s.credentials["made-for"] = flow.Credential{WorkspaceID: "ws", Name: "made-for", Provider: "openai", Hosts: []string{"api.openai.com"}}
	return l, s
}

func TestPublish_checks_hosts_of_credentials(t *testing.T) {
	t.Parallel()
	const fixed, open, edge = `"https://api.example.com/{{x}}"`, `"https://{{x}}.example.com/"`, `"https://api.example.com/"`
	for _, c := range []struct {
		name, url, config, edges string
		refuse                   bool // SLUICE_UNBOUND_CREDENTIALS
		problem                  string
	}{
		{"unbound, fixed host", fixed, `"headers": {"A": {"credential": "open"}}`, "x.value -> r.x", false, ""},
		{"unbound, fixed host, refused", fixed, `"headers": {"A": {"credential": "open"}}`, "x.value -> r.x", true, problemUnbound},
		{"unbound, host of a template", open, `"headers": {"A": {"credential": "open"}}`, "x.value -> r.x", false, problemUnbound},
		{"unbound, URL by an edge", edge, `"headers": {"A": {"credential": "open"}}`, "x.value -> r.url", false, problemUnbound},
		{"unbound, in a text of the body", edge, `"body": "{\"a\": \"{{credential:open}}\"}"`, "x.value -> r.url", false, problemUnbound},
		{"unbound, in the URL", `"https://{{x}}.example.com/{{credential:open}}"`, `"body": "a"`, "x.value -> r.x", false, problemUnbound},
		{"unbound, but it only signs", edge, `"signing": {"credential": "open"}`, "x.value -> r.url", true, ""},
		{"bound, URL by an edge", edge, `"headers": {"A": {"credential": "bound"}}`, "x.value -> r.url", false, ""},
		{"bound to the host", fixed, `"headers": {"A": {"credential": "bound"}}`, "x.value -> r.x", true, ""},
		{"bound to a wildcard and port", fixed, `"headers": {"A": {"credential": "wide"}}`, "x.value -> r.x", true, ""},
		{"bound to another host", `"https://other.example/"`, `"headers": {"A": {"credential": "bound"}}`, "", false, problemWrongHost},
		{"for a provider", edge, `"headers": {"A": {"credential": "made-for"}}`, "x.value -> r.url", true, ""},
		{"one that does not exist", edge, `"headers": {"A": {"credential": "gone"}}`, "x.value -> r.url", true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l, s := requestLibrary()
			l.RefuseUnbound = c.refuse
			lines := fmt.Sprintf("x input {\"name\": \"x\"}\nr request {\"url\": %s, %s}\n", c.url, c.config)
			if c.edges != "" {
				lines += c.edges
			}
			f, err := l.Import(t.Context(), "ws", "", flowtest.Document(lines))
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = l.Publish(t.Context(), "ws", f.ID, "me")
			e, _ := errors.AsType[*flow.Error](err)
			switch {
			case c.problem == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.problem != "" && (e == nil || len(e.Fields) != 1 || e.Fields[0].Code != c.problem || e.Fields[0].Node != "r" || !strings.Contains(e.Fields[0].Detail, "under Credentials")):
				t.Errorf("got %v, want %s", err, c.problem)
			}
			if published := len(s.versions) == 1; published != (c.problem == "") {
				t.Errorf("published is %v", published)
			}
		})
	}
}

func TestImportAll_checks_hosts_of_credentials(t *testing.T) {
	t.Parallel()
	for _, refuse := range []bool{false, true} {
		l, s := requestLibrary()
		l.RefuseUnbound = refuse
		data := flowtest.Document(`r request {"url": "https://api.example.com/", "headers": {"A": {"credential": "open"}}}`)
		_, err := l.ImportAll(t.Context(), flow.Actor{ID: "me"}, "ws", []ImportSource{{Data: data}}, true)
		if refused := errors.Is(err, &flow.Error{Code: flow.CodeDocumentInvalid}); refused != refuse || len(s.versions) == 1 == refuse {
			t.Errorf("RefuseUnbound %v: %v, %d versions", refuse, err, len(s.versions))
		}
	}
}

// TestPublish_extracts_older_secrets publishes a draft that is older than the rule by which
// its secrets are found.
func TestPublish_extracts_older_secrets(t *testing.T) {
	t.Parallel()
	l, s := requestLibrary()
	ctx := t.Context()
	f, err := l.Import(ctx, "ws", "", flowtest.Document(`r request {"url": "https://api.example.com/", "body": "b"}`))
	if err != nil {
		t.Fatal(err)
	}
	old := flowtest.Document(`r request {"url": "https://api.example.com/?api_key=s3cret-1", "headers": {"X-RapidAPI-Key": "s3cret-2"}, "body": {"login": {"password": "s3cret-3"}}}`)
	d, _ := document.ParseDocument(old)
	s.flows[f.ID].Draft = d.Compact()
	if names, err := LiteralSecrets(ctx, literalStore{s}, "ws", l.Kinds); err != nil || len(names) != 1 || names[0] != "test" {
		t.Errorf("found %v, %v", names, err)
	}
	if _, _, err := l.Publish(ctx, "ws", f.ID, "me"); err != nil {
		t.Fatal(err)
	}
	version := string(s.documents[s.flows[f.ID].LiveHash])
	log := logged(s)
	for _, text := range []string{version, string(s.flows[f.ID].Draft), log} {
		if strings.Contains(text, "s3cret") {
			t.Errorf("a secret is in clear: %s", text)
		}
	}
	if len(s.secrets) != 3 || s.secrets["test-r-api-key"] != "s3cret-1" || s.secrets["test-r-x-rapidapi-key"] != "s3cret-2" || s.secrets["test-r-password"] != "s3cret-3" {
		t.Errorf("%v", s.secrets)
	}
	for name := range s.secrets {
		if hosts := s.credentials[name].Hosts; len(hosts) != 1 || hosts[0] != "api.example.com" {
			t.Errorf("%s is bound to %v", name, hosts)
		}
	}
	// Restoring the old version brings no secret back.
	if _, err := l.Import(ctx, "ws", f.ID, flowtest.Document(`r request {"url": "https://api.example.com/"}`)); err != nil {
		t.Fatal(err)
	}
	s.documents[s.versions[0].DocumentHash] = d.Compact()
	if _, err := l.RestoreVersion(ctx, flow.Actor{ID: "me"}, "ws", f.ID, 1, "tx-restore"); err != nil || strings.Contains(string(s.flows[f.ID].Draft), "s3cret") || strings.Contains(logged(s), "s3cret") {
		t.Errorf("%v: %s", err, s.flows[f.ID].Draft)
	}
}

// TestEditFlow_logs_no_older_secrets changes a field of an older draft. The log has the
// previous value without its secrets.
func TestEditFlow_logs_no_older_secrets(t *testing.T) {
	t.Parallel()
	l, s := requestLibrary()
	ctx := t.Context()
	f, err := l.Import(ctx, "ws", "", flowtest.Document(`r request {"url": "https://api.example.com/"}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, op := range map[string]document.Edit{
		"set":    {Op: document.OpSet, Node: "r", Field: "headers", Value: map[string]any{"X-RapidAPI-Key": "s3cret-new"}},
		"other":  {Op: document.OpSet, Node: "r", Field: "body", Value: "text"},
		"unset":  {Op: document.OpSet, Node: "r", Field: "headers", Unset: true},
		"remove": {Op: document.OpRemove, Nodes: []string{"r"}},
	} {
		d, _ := document.ParseDocument(flowtest.Document(`r request {"url": "https://api.example.com/?key=s3cret-1", "headers": {"X-RapidAPI-Key": "s3cret-2"}}`))
		s.flows[f.ID].Draft = d.Compact()
		if _, err := l.EditFlow(ctx, "ws", f.ID, "me", document.EditRequest{Base: s.flows[f.ID].Rev, Tab: "t", TxID: "tx-" + name, Ops: []document.Edit{op}}); err != nil {
			t.Fatal(err)
		}
		if log := logged(s); strings.Contains(log, "s3cret") {
			t.Errorf("%s: %s", name, log)
		}
		if draft := string(s.flows[f.ID].Draft); strings.Contains(draft, "s3cret") {
			t.Errorf("%s: %s", name, draft)
		}
	}
}

func TestMoveSecret(t *testing.T) {
	t.Parallel()
	const token = "9f86d081884c7d659a2feaa0c55ad015"
	for name, c := range map[string]struct{ config, field, found, want string }{
		"a header":       {`"url": "https://api.example.com/", "headers": {"X-Client": "` + token + `", "X-Trace": "7"}`, "headers", "X-Client", `{"X-Client":{"credential":"test-r-x-client"},"X-Trace":"7"}`},
		"the query":      {`"url": "https://api.example.com/?code=` + token + `&page=2"`, "url", "code", `"https://api.example.com/?code={{credential:test-r-code}}&page=2"`},
		"the path":       {`"url": "https://api.example.com/bot` + token + `/send"`, "url", "", `"https://api.example.com/{{credential:test-r-url}}/send"`},
		"a JSON body":    {`"url": "https://api.example.com/", "body": {"a": [{"device": "` + token + `"}]}`, "body", "device", `{"a":[{"device":{"credential":"test-r-device"}}]}`},
		"a JSON text":    {`"url": "https://api.example.com/", "body": "{\"device\": \"` + token + `\", \"n\": {{n}}}"`, "body", "device", `"{\"device\": \"{{credential:test-r-device}}\", \"n\": {{n}}}"`},
		"nothing of all": {`"url": "https://api.example.com/?page=2", "headers": {"Accept": "application/json"}, "body": {"text": "Hello, this is a sentence."}`, "body", "-", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := requestLibrary()
			f, err := l.createDraft(t.Context(), "ws", mustParse(t, `r request {`+c.config+`}`), nil)
			if err != nil {
				t.Fatal(err)
			}
			n := mustParseData(t, s.flows[f.ID].Draft).Node("r")
			list := document.SuggestSecrets(n, l.Kinds.Find("request").Field(c.field))
			if c.found == "-" {
				if len(list) != 0 {
					t.Errorf("suggests %+v", list)
				}
				return
			}
			if len(list) != 1 || list[0].Name != c.found {
				t.Fatalf("suggests %+v", list)
			}
			credential, err := l.MoveSecret(t.Context(), flow.Actor{ID: "me"}, "ws", f.ID, "r", c.field, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(flow.EncodeJSON(mustParseData(t, s.flows[f.ID].Draft).Node("r").Config[c.field])); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if k := s.credentials[credential]; s.secrets[credential] == "" || !strings.Contains(s.secrets[credential], token) || len(k.Hosts) != 1 || k.Hosts[0] != "api.example.com" {
				t.Errorf("kept %q for %v", s.secrets[credential], k.Hosts)
			}
			if log := logged(s); strings.Contains(log, token) {
				t.Errorf("the log has the secret: %s", log)
			}
			if _, err := l.MoveSecret(t.Context(), flow.Actor{ID: "me"}, "ws", f.ID, "r", c.field, 0); flow.AsError(err).Code != document.CodeEditsGone {
				t.Errorf("again: %v", err)
			}
		})
	}
}

// logged returns the whole log of edits as text.
func logged(s *memoryStore) string {
	var all []any
	for i := range s.log {
		all = append(all, s.log[i].Ops, s.log[i].Inverse)
	}
	return string(flow.EncodeJSON(all))
}

func mustParse(t *testing.T, lines string) *flow.Document {
	return mustParseData(t, flowtest.Document(lines))
}

func mustParseData(t *testing.T, data []byte) *flow.Document {
	t.Helper()
	d, problems := document.ParseDocument(data)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return d
}

// literalStore lists the flows of a memoryStore.
type literalStore struct{ *memoryStore }

func (s literalStore) ListFlows(context.Context, flow.WorkspaceID, flow.FlowID, int) (list []flow.Flow, _ error) {
	for _, f := range s.flows {
		list = append(list, *f)
	}
	return list, nil
}

func (literalStore) ListCredentials(context.Context, flow.WorkspaceID) ([]flow.Credential, error) {
	return nil, nil
}

func (literalStore) OpenCredential(context.Context, flow.WorkspaceID, string) (flow.Credential, string, error) {
	return flow.Credential{}, "", nil
}

func TestUserInfoMovesBeforeTheCheck(t *testing.T) {
	t.Parallel()
	l, s := requestLibrary()
	f, err := l.Import(t.Context(), "ws", "", flowtest.Document(`r request {"url": "https://ada:s3cret@api.example.com/x"}`))
	if err != nil || strings.Contains(string(f.Draft), "s3cret") || s.secrets["test-r-authorization"] != "Basic YWRhOnMzY3JldA==" {
		t.Errorf("%v %s %v", err, f.Draft, s.secrets)
	}
}

func TestCredentialsOnlyInFieldsThatResolveThem(t *testing.T) {
	t.Parallel()
	l, _ := requestLibrary()
	_, err := l.Import(t.Context(), "ws", "", flowtest.Document(`t fill {"template": "Hello {{credential:bound}}"}`))
	if e := flow.AsError(err); len(e.Fields) != 1 || e.Fields[0].Code != "credential" {
		t.Errorf("got %v", err)
	}
}
