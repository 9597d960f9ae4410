package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// outsideNames are hosts that no resolver knows, so nothing reaches them without the proxy.
var outsideNames = []string{"models.sluice.test", "rest.sluice.test", "files.sluice.test", "hooks.sluice.test", "replicate.sluice.test", "id.sluice.test", "mcp.sluice.test", "alarms.sluice.test", "collector.sluice.test"}

// company is the network of a company behind an HTTP proxy: a server with all of outsideNames whose certificate is from an
// authority of the company, and the proxy that leads there. It records what the server is asked, as "host path".
type company struct {
	*httptest.Server
	proxy     *httptest.Server
	authority string // file with the certificate of the authority

	mu    sync.Mutex
	asked map[string]bool
}

func newCompany(t *testing.T) *company {
	t.Helper()
	o := &company{asked: map[string]bool{}}
	certificate, authority := certificates(t)
	o.authority = filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(o.authority, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	o.Server = httptest.NewUnstartedServer(o)
	o.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	o.StartTLS()
	t.Cleanup(o.Close)
	o.proxy = httptest.NewServer(http.HandlerFunc(o.connect))
	t.Cleanup(o.proxy.Close)
	return o
}

// certificates returns a certificate for outsideNames and the authority that issued it.
func certificates(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	issue := func(c, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) []byte {
		c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	keys := make([]*ecdsa.PrivateKey, 2)
	for i := range keys {
		var err error
		if keys[i], err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Company"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	authority := issue(root, root, keys[0], keys[0])
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: outsideNames, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der := issue(leaf, root, keys[1], keys[0])
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: keys[1]}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority})
}

// connect answers CONNECT: it leads to the server whatever the name.
func (o *company) connect(w http.ResponseWriter, r *http.Request) {
	up, err := net.Dial("tcp", o.Listener.Addr().String())
	if err != nil || r.Method != http.MethodConnect {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer up.Close()
	down, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer down.Close()
	o.note(strings.TrimSuffix(r.RequestURI, ":443"), "CONNECT")
	_, _ = io.WriteString(down, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		_, _ = io.Copy(up, rw)
		_ = up.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(down, up)
}

func (o *company) note(host, path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked[host+" "+path] = true
}

func (o *company) was(host, path string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.asked[host+" "+path]
}

// ServeHTTP plays every service.
func (o *company) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.note(r.Host, r.URL.Path)
	w.Header().Set("Content-Type", "application/json")
	switch r.Host + r.URL.Path {
	case "models.sluice.test/v1/chat/completions":
		_, _ = io.WriteString(w, `{"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}`)
	case "files.sluice.test/a.txt":
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "a file")
	case "id.sluice.test/.well-known/openid-configuration":
		_ = json.NewEncoder(w).Encode(object{"issuer": "https://id.sluice.test", "authorization_endpoint": "https://id.sluice.test/authorize", "token_endpoint": "https://id.sluice.test/token", "jwks_uri": "https://id.sluice.test/keys",
			"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"}})
	default:
		_, _ = io.WriteString(w, `{}`)
	}
}

// TestProxy_sees_all_that_leaves lets everything that reaches other hosts leave through a proxy, to servers whose certificates are
// from an authority in SSL_CERT_FILE. Their names resolve nowhere, so what bypasses the proxy fails.
func TestProxy_sees_all_that_leaves(t *testing.T) {
	t.Parallel()
	o := newCompany(t)
	providers := filepath.Join(t.TempDir(), "oidc.json")
	if err := os.WriteFile(providers, []byte(`{"providers": [{"id": "company", "issuer": "https://id.sluice.test", "client_id": "sluice", "client_secret": "x", "domains": ["example.com"]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, "SLUICE_PROXY="+o.proxy.URL, "SSL_CERT_FILE="+o.authority, "SLUICE_OIDC="+providers,
		"SLUICE_REPLICATE_URL=https://replicate.sluice.test/v1", "REPLICATE_API_TOKEN=r8_secret", "OTEL_EXPORTER_OTLP_ENDPOINT=https://collector.sluice.test")
	(&dashboard{server: s}).person(ownerEmail, "owner")
	for name, add := range map[string][]string{
		"gpu":   {"--provider", "vllm", "--base-url", "https://models.sluice.test/v1"},
		"tools": {"--provider", "mcp", "--base-url", "https://mcp.sluice.test/mcp"},
	} {
		if r := s.commandWith("secret\n", append([]string{"credential", "add", "--name", name}, add...)...); r.code != 0 {
			t.Fatal(r.errs)
		}
	}
	_ = s.command("credential", "tools", "tools") // the answer is no MCP server's

	id := s.publish(documentOf("Everything", []object{
		input("n"), node("ask", "chat", object{"model": "gpu/small", "prompt": "{{n}}"}), node("rest", "http_request", object{"url": "https://rest.sluice.test/items"}),
		node("file", "file", object{"url": "https://files.sluice.test/a.txt"}), node("hook", "webhook", object{"url": "https://hooks.sluice.test/in"}), output("text"), output("rest"),
	}, "n.value > ask.n", "ask.text > out_text.value", "rest.body > out_rest.value"))
	c := s.client(s.key("--scope", "run,read,edit"))
	if r := c.succeed(id, object{"n": "1"}); r.Outputs["text"] != "Hello" {
		t.Errorf("outputs: %v", r.Outputs)
	}
	hosted := s.publish(documentOf("Hosted", []object{input("n"), node("paint", "hosted_model", object{"model": "acme/paint", "input": object{"prompt": "a cat"}}), output("text")}, "paint.output > out_text.value"))
	c.want(200, "PUT", "/v1/alarms/failing", object{"kind": "failed", "flow": hosted, "to": []object{{"webhook": "https://alarms.sluice.test/x"}}})
	_ = c.await(c.start(hosted, object{"n": "1"})) // the answers are no platform's; the alarm reports that it failed
	resp, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Get(s.base() + "/sign-in/with/company")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if to := resp.Header.Get("Location"); !strings.HasPrefix(to, "https://id.sluice.test/authorize?") {
		t.Errorf("signing in leads to %q", to)
	}
	for _, name := range outsideNames {
		s.waitUntil(name+" is reached through the proxy", func() bool { return o.was(name, "CONNECT") })
	}
	for _, path := range []string{"models.sluice.test /v1/chat/completions", "rest.sluice.test /items", "files.sluice.test /a.txt", "hooks.sluice.test /in", "id.sluice.test /.well-known/openid-configuration", "collector.sluice.test /v1/traces"} {
		host, path, _ := strings.Cut(path, " ")
		s.waitUntil(host+path+" is asked", func() bool { return o.was(host, path) })
	}
}
