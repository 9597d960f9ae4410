package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// fakeProvider is a model provider that accepts one secret and lists one model.
func fakeProvider(t *testing.T, secret string) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if given := r.Header.Get("Authorization"); given != "Bearer "+secret {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error": {"message": "Incorrect API key provided: ` + given + `.", "type": "invalid_request_error", "code": "invalid_api_key"}}`))
			return
		}
		_, _ = w.Write([]byte(`{"object": "list", "data": [{"id": "small-1", "object": "model", "owned_by": "us"}]}`))
	}))
	t.Cleanup(s.Close)
	return s
}

// TestCredentialCommands adds, tests, lists, uses and removes a credential beside a
// running server.
func TestCredentialCommands(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	const right, wrong = "sk-right-1234567890", "sk-wrong-1234567890"
	provider := fakeProvider(t, right)
	s := newServer(t)
	add := func(secret string) result {
		return s.commandWith(secret+"\n", "credential", "add", "--name", "gateway", "--provider", "openai_compatible", "--base-url", provider.URL+"/v1")
	}
	if r := add(wrong); r.code != 0 || !strings.Contains(r.out, "127.0.0.1") {
		t.Fatalf("credential add: %+v", r)
	}
	if r := s.command("credential", "test", "gateway"); r.code != 1 || !strings.Contains(r.errs, "Incorrect API key") || strings.Contains(r.out+r.errs, wrong) {
		t.Errorf("a wrong secret: %+v", r)
	}
	if r := add(right); r.code != 0 {
		t.Fatalf("replacing it: %+v", r)
	}
	if r := s.command("credential", "test", "gateway"); r.code != 0 {
		t.Errorf("the right secret: %+v", r)
	}

	s.publish(documentOf("Knock", []object{
		node("knock", "http_request", object{"url": provider.URL, "headers": object{"Authorization": object{"credential": "gateway"}}}), output("got"),
	}, "knock.body > out_got.value"))
	if list := s.must("credential", "list"); !strings.Contains(list, "gateway") || !strings.Contains(list, "Knock") || strings.Contains(list, right) {
		t.Errorf("credential list:\n%s", list)
	}
	var listed []struct {
		Name   string
		Hosts  []string
		UsedBy []struct {
			Node string
			Live bool
		} `json:"used_by"`
	}
	if err := json.Unmarshal([]byte(s.must("credential", "list", "--json")), &listed); err != nil || len(listed) != 1 || len(listed[0].UsedBy) != 2 {
		t.Errorf("credential list --json: %+v, %v", listed, err)
	}
	s.publish(asking(object{"model": "gateway/small-1"}))
	if list := s.must("credential", "list"); !strings.Contains(list, "Knock, Ask") {
		t.Errorf("credential list does not count who takes what there is for a provider:\n%s", list)
	}
	if r := s.command("credential", "remove", "gateway"); r.code != 1 || !strings.Contains(r.errs, "Knock") {
		t.Errorf("removing what is used: %+v", r)
	}
	s.must("credential", "remove", "gateway", "--force")
	if r := s.command("credential", "test", "gateway"); r.code != 1 {
		t.Errorf("testing what is gone: %+v", r)
	}
}

// TestCredentialAdd_rejects_invalid_credentials checks the errors for credentials that cannot work.
func TestCredentialAdd_rejects_invalid_credentials(t *testing.T) {
	t.Parallel()
	s := stoppedServer(t)
	s.must("migrate")
	tests := []struct {
		name, secret, says string
		args               []string
	}{
		{"an unknown provider", "sk", "openai_compatible", []string{"--name", "a", "--provider", "opnai"}},
		{"no secret", "", "standard input", []string{"--name", "a", "--provider", "openai"}},
		{"an invalid name", "sk", "letters", []string{"--name", "a b", "--provider", "openai"}},
		{"a missing base URL", "sk", "--base-url", []string{"--name", "a", "--provider", "openai_compatible"}},
		{"a base URL with a password", "sk", "without a name or password", []string{"--name", "a", "--provider", "vllm", "--base-url", "http://u:p@gpu/v1"}},
		{"an empty host", "sk", "--host", []string{"--name", "a", "--host", ""}},
		{"no host", "sk", "--any-host", []string{"--name", "a"}},
		{"a host and any host", "sk", "cannot be used together", []string{"--name", "a", "--host", "a.example", "--any-host"}},
		{"a host with a scheme", "sk", "without a scheme or a path", []string{"--name", "a", "--host", "https://a.example"}},
		{"hosts of strangers", "sk", "hosts of strangers", []string{"--name", "a", "--host", "*.co.uk"}},
		{"another provider's name", "sk", "choose another name", []string{"--name", "anthropic", "--provider", "openai"}},
		{"a local server", "none", "--base-url", []string{"--name", "gpu", "--provider", "vllm"}},
		{"several lines", "one\ntwo", "one line", []string{"--name", "a", "--provider", "openai"}},
	}
	for _, tt := range tests {
		r := s.commandWith(tt.secret, append([]string{"credential", "add"}, tt.args...)...)
		if r.code != 2 || !strings.Contains(r.errs, tt.says) {
			t.Errorf("%s: %+v", tt.name, r)
		}
	}
}

// TestCredential_refusal_names_field checks that a credential that breaks the rules of its
// provider is refused with a pointer to the field of the request, as in problems of
// other routes.
func TestCredential_refusal_names_field(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	refused := s.client(s.key("--scope", "admin")).rejected(422, "input_invalid", "PUT", "/v1/credentials/one",
		object{"provider": "openai", "secret": "sk-test-1234567890", "base_url": "https://example.com"})
	if !strings.Contains(string(refused.body), `"pointer":"/base_url"`) {
		t.Errorf("the problem is %s", refused.body)
	}
}

// TestEnvironmentCredential checks that a secret in the environment needs no set-up.
func TestEnvironmentCredential(t *testing.T) {
	t.Parallel()
	const secret = "sk-environment-1234567890"
	provider := fakeProvider(t, secret)
	s := stoppedServer(t, "OPENAI_API_KEY="+secret, "OPENAI_BASE_URL="+provider.URL+"/v1")
	s.must("migrate")
	if r := s.command("credential", "test", "openai"); r.code != 0 {
		t.Errorf("credential test: %+v", r)
	}
	if list := s.must("credential", "list"); !strings.Contains(list, "OPENAI_API_KEY") || strings.Contains(list, secret) {
		t.Errorf("credential list:\n%s", list)
	}
}

// TestEnvironment_rejects_invalid_base_URL checks that an invalid base URL does not make Sluice send the
// secret to the default address.
func TestEnvironment_rejects_invalid_base_URL(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:8080/v1", `"http://127.0.0.1/v1"`, "ftp://models/v1", "http://u:p@models/v1"} {
		s := stoppedServer(t, "OPENAI_API_KEY=sk-1234567890", "OPENAI_BASE_URL="+address)
		if r := s.command("credential", "list"); r.code != 2 || !strings.Contains(r.errs, "OPENAI_BASE_URL") {
			t.Errorf("%s: %+v", address, r)
		}
	}
}

// TestFlowRun_file_uses_stored_credentials checks that a flow from a file can use stored
// credentials, as a stored flow can.
func TestFlowRun_file_uses_stored_credentials(t *testing.T) {
	t.Parallel()
	const secret = "sk-kept-1234567890"
	provider := fakeProvider(t, secret)
	s := stoppedServer(t)
	s.must("migrate")
	if r := s.commandWith(secret, "credential", "add", "--name", "gate", "--host", "127.0.0.1"); r.code != 0 {
		t.Fatalf("credential add: %+v", r)
	}
	file := writeFile(t, "knock.json", documentOf("Knock", []object{
		node("knock", "http_request", object{"url": provider.URL, "headers": object{"Authorization": object{"credential": "gate"}}}), output("got"),
	}, "knock.status > out_got.value"))
	if r := s.command("flow", "run", file); r.code != 1 || !strings.Contains(r.errs+r.out, "401") {
		t.Errorf("the secret as it is kept lacks its scheme: %+v", r)
	}
	if r := s.commandWith("Bearer "+secret, "credential", "add", "--name", "gate", "--host", "127.0.0.1"); r.code != 0 {
		t.Fatalf("credential add: %+v", r)
	}
	if out := s.must("flow", "run", file); out != "got: 200" {
		t.Errorf("flow run printed %q", out)
	}
}

// TestCredentials_are_sent_only_to_their_hosts acts as a caller who may only run flows and tries to
// steal a credential: the URL of a request is an input.
func TestCredentials_are_sent_only_to_their_hosts(t *testing.T) {
	t.Parallel()
	const secret = "sk-precious-1234567890"
	var stolen atomic.Bool
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Authorization"), secret) {
			stolen.Store(true)
		}
	}))
	t.Cleanup(thief.Close)
	s := stoppedServer(t)
	s.must("migrate")
	if r := s.commandWith(secret, "credential", "add", "--name", "api", "--any-host"); r.code != 0 || !strings.Contains(r.out, "can be sent anywhere") {
		t.Fatalf("credential add: %+v", r)
	}
	if r := s.command("credential", "list"); r.code != 0 || !strings.Contains(r.errs, "api: credential can be sent anywhere. Bind it with: sluice credential hosts api --host HOST") {
		t.Errorf("credential list: %+v", r)
	}
	if r := s.command("doctor"); !strings.Contains(r.out, "1 credential can be sent anywhere: api.") {
		t.Errorf("doctor: %+v", r)
	}
	call := func(file, credential, url string, edges ...string) string {
		return writeFile(t, file, documentOf("Call with "+credential, []object{
			node("where", "input", object{"name": "where", "type": "text", "default": "x"}),
			node("call", "http_request", object{"url": url, "headers": object{"Authorization": object{"credential": credential}}}), output("got"),
		}, append(edges, "call.status > out_got.value")...))
	}
	open := call("open.json", "api", "https://api.example.com", "where.value > call.url")
	if r := s.command("flow", "import", open, "--publish"); r.code == 0 || !strings.Contains(r.errs, "anyone who starts a run") || !strings.Contains(r.errs, "under Credentials") {
		t.Errorf("an unbound credential was published: %+v", r)
	}
	if r := s.command("credential", "hosts", "api", "--host", "api.example.com", "--host", "*.example.org"); r.code != 0 || !strings.Contains(r.out, "api.example.com, *.example.org") {
		t.Fatalf("credential hosts: %+v", r)
	}
	s.must("flow", "import", open, "--publish")
	if r := s.command("flow", "run", open, "--input", "where="+thief.URL); r.code == 0 || !strings.Contains(r.errs+r.out, "may not be sent to 127.0.0.1") || stolen.Load() {
		t.Errorf("stolen %v: %+v", stolen.Load(), r)
	}
	if list := s.must("credential", "list", "--json"); !strings.Contains(list, `"unbound": false`) || !strings.Contains(list, `"api.example.com"`) {
		t.Errorf("credential list:\n%s", list)
	}
	// While that flow is live, neither this credential nor one added later may be sent anywhere.
	if r := s.command("credential", "hosts", "api", "--any-host"); r.code == 0 || !strings.Contains(r.errs, "The published flow \"Call with api\" sends this credential to a host") {
		t.Errorf("the hosts were removed: %+v", r)
	}
	if r := s.commandWith(secret, "credential", "add", "--name", "api", "--any-host"); r.code == 0 {
		t.Errorf("the credential was replaced by one without hosts: %+v", r)
	}
	later := call("later.json", "later", "https://api.example.com", "where.value > call.url")
	s.must("flow", "import", later, "--publish")
	if r := s.commandWith(secret, "credential", "add", "--name", "later", "--any-host"); r.code == 0 || !strings.Contains(r.errs, "Call with later") {
		t.Errorf("a credential without hosts was added for a live flow: %+v", r)
	}
	if r := s.commandWith(secret, "credential", "add", "--name", "free", "--any-host"); r.code != 0 {
		t.Errorf("credential add: %+v", r)
	}
	fixed := call("fixed.json", "free", thief.URL)
	refusing := append(s.env, "SLUICE_UNBOUND_CREDENTIALS=refuse")
	s.env = refusing
	if r := s.command("flow", "run", fixed); r.code == 0 || !strings.Contains(r.errs+r.out, "SLUICE_UNBOUND_CREDENTIALS") || stolen.Load() {
		t.Errorf("stolen %v: %+v", stolen.Load(), r)
	}
	if r := s.command("flow", "import", fixed, "--publish"); r.code == 0 || !strings.Contains(r.errs, "SLUICE_UNBOUND_CREDENTIALS") {
		t.Errorf("published: %+v", r)
	}
}
