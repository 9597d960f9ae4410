package pages

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/handlers"
	"sluice/handlers/conns"
	"sluice/jobs"
	"sluice/nodes"
	"sluice/outbound"
	"sluice/providers/builtin"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// house is the dashboard with everything real behind it: store, engine, kinds.
type house struct {
	t       *testing.T
	store   *db.Store
	library *flow.Library
	runner  *jobs.Runner
	server  *Server
	http    *httptest.Server
	log     *logBuffer
}

// kinds are those of the binary; HTTP may reach servers of tests.
var kinds = sync.OnceValue(func() *flow.Registry {
	client, err := outbound.New(outbound.Config{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		panic(err)
	}
	return nodes.New(nodes.Deps{HTTP: client, Model: builtin.New()})
})

// setup is a house that has an owner.
func setup(t *testing.T, set ...func(*Config)) *house {
	t.Helper()
	h := setupOn(t, dbtest.SQLite(t), set...)
	h.add("founder@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	return h
}

// setupOn is a house without anybody, on a store of the test's own.
func setupOn(t *testing.T, store *db.Store, set ...func(*Config)) *house {
	t.Helper()
	h := &house{t: t, store: store, log: &logBuffer{}}
	h.library = &flow.Library{Store: h.store, Kinds: kinds(), IDs: flow.NewIDs()}
	h.runner = h.startRunner()
	h.http = httptest.NewUnstartedServer(nil)
	cfg := Config{
		Store: h.store, Library: h.library, Runner: h.runner, Kinds: kinds(), Files: h.store, PublicURL: "http://" + h.http.Listener.Addr().String(),
		Log:    slog.New(slog.NewTextHandler(h.log, nil)),
		Models: fakeModels{}, Providers: fakeProviders{h.store},
	}
	cfg.Links = &flow.FileLinks{Base: cfg.PublicURL, Key: []byte("a key of the test, thirty-two by")}
	api := handlers.New(handlers.Config{
		Store: h.store, Files: h.store, Links: cfg.Links, Runner: h.runner, Kinds: kinds(), PublicURL: cfg.PublicURL,
	})
	cfg.API = api.ServeAs
	for _, f := range set {
		f(&cfg)
	}
	h.server = New(cfg)
	h.store.FlowEdited, h.store.Heard = h.server.FlowEdited, h.server.Hear
	h.http.Config, h.http.Listener = &handlers.NewHTTPServer(h.server).Server, conns.Listen(h.http.Listener)
	h.http.Start()
	t.Cleanup(func() { h.server.Drain(); h.http.Close(); api.Close() })
	return h
}

func (h *house) startRunner() *jobs.Runner {
	h.t.Helper()
	instance := "test-" + rand.Text()
	quiet := slog.New(slog.DiscardHandler)
	queue, err := jobs.NewQueue(jobs.QueueConfig{SQLite: h.store.SQLite(), Write: h.store.WriteQueue, Postgres: h.store.Pool(), Workers: 8, Instance: instance, Poll: time.Hour, Log: quiet})
	if err != nil {
		h.t.Fatal(err)
	}
	h.store.UseQueue(queue)
	h.store.RunEnded = func(run *flow.Run) (string, []byte) { return "run." + string(run.State), []byte(`{}`) }
	r := jobs.New(jobs.Config{
		Store: h.store, Queue: queue, Kinds: kinds(), Secrets: &flow.Resolver{Store: h.store}, Files: h.store, HTTP: http.DefaultClient,
		Links: &flow.FileLinks{Base: "http://files.test", Key: []byte("secret that signs links in tests")}, Instance: instance, Workers: 8, Log: quiet,
	})
	if err := r.Start(context.Background()); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := r.Drain(ctx); err != nil {
			h.t.Error(err)
		}
	})
	return r
}

// flow imports a document into the default workspace.
func (h *house) flow(document string) (id string) {
	h.t.Helper()
	f, err := h.library.Import(context.Background(), flow.DefaultWorkspace, "", []byte(document))
	if err != nil {
		h.t.Fatal(err)
	}
	return f.ID
}

// password of everybody in tests, hashed once and cheaply.
const password = "correct horse battery"

var passwordHash = sync.OnceValue(func() string {
	hash, err := argon2id.CreateHash(password, &argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
	if err != nil {
		panic(err)
	}
	return hash
})

// as signs a new person in who has the role in the default workspace.
func (h *house) as(role flow.MemberRole) *browser {
	h.t.Helper()
	return h.signIn(h.person(role))
}

// person makes a member of the default workspace and gives the e-mail address.
func (h *house) person(role flow.MemberRole) string {
	h.t.Helper()
	return h.add(string(role)+"-"+strings.ToLower(rand.Text()[:6])+"@example.com", flow.DefaultWorkspace, role).Email
}

// add makes somebody with the password of everybody.
func (h *house) add(email, ws string, role flow.MemberRole) *flow.User {
	h.t.Helper()
	u := &flow.User{Email: email, Name: strings.Split(email, "@")[0], PasswordHash: passwordHash()}
	if err := h.store.CreateUser(context.Background(), ws, u, role); err != nil {
		h.t.Fatal(err)
	}
	return u
}

// signIn is the browser of somebody who has signed in.
func (h *house) signIn(email string) *browser {
	h.t.Helper()
	b := h.stranger()
	b.post("/sign-in", url.Values{"email": {email}, "password": {password}}).see("/flows")
	return b
}

// stranger is somebody who is not signed in.
func (h *house) stranger() *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &browser{t: h.t, base: h.http.URL, client: &http.Client{Jar: jar, CheckRedirect: stay, Timeout: 30 * time.Second}}
}

// browser keeps cookies and sends what a browser sends.
type browser struct {
	t      *testing.T
	base   string
	client *http.Client
	htmx   bool
}

// part is the same browser whose requests are htmx's, for a fragment.
func (b *browser) part() *browser {
	other := *b
	other.htmx = true
	return &other
}

// answer is what came back.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   string
}

func (b *browser) get(path string) *answer { b.t.Helper(); return b.send("GET", path, "", nil) }

func (b *browser) post(path string, form url.Values) *answer {
	b.t.Helper()
	return b.send("POST", path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
}

func (b *browser) postJSON(path, body string) *answer {
	b.t.Helper()
	return b.send("POST", path, "application/json", strings.NewReader(body))
}

func (b *browser) send(method, path, mime string, body io.Reader) *answer {
	b.t.Helper()
	r, err := http.NewRequest(method, b.base+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if mime != "" {
		r.Header.Set("Content-Type", mime)
	}
	if b.htmx {
		r.Header.Set("HX-Request", "true")
		r.Header.Set("HX-Request-Type", "partial")
	}
	resp, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return &answer{b.t, resp.StatusCode, resp.Header, string(text)}
}

// is checks the status.
func (a *answer) is(status int) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// see checks that the answer leads to a page.
func (a *answer) see(path string) {
	a.t.Helper()
	to := a.header.Get("Location") + a.header.Get("HX-Redirect")
	if to != path {
		a.t.Fatalf("status %d leads to %q, want %q: %s", a.status, to, path, a.body)
	}
}

// has checks that the answer says something.
func (a *answer) has(texts ...string) *answer {
	a.t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			a.t.Errorf("%q is missing in: %s", text, a.body)
		}
	}
	return a
}

// lacks checks that the answer does not say something.
func (a *answer) lacks(texts ...string) *answer {
	a.t.Helper()
	for _, text := range texts {
		if strings.Contains(a.body, text) {
			a.t.Errorf("%q should not be in: %s", text, a.body)
		}
	}
	return a
}

// logBuffer is what the server logged.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
