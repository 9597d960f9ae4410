package webtest

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
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/documents"
	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/flow/filelinks"
	"sluice/flow/hooks"
	"sluice/flow/library"
	"sluice/flow/triggers"
	"sluice/handlers"
	"sluice/handlers/web"
	"sluice/handlers/web/conns"
	"sluice/javascript"
	"sluice/jobs"
	"sluice/nodes"
	"sluice/nodes/agents"
	"sluice/nodes/bases"
	"sluice/nodes/expression"
	"sluice/outbound"
	"sluice/providers"
	"sluice/providers/builtin"
)

// Main runs the tests of a package and stops the servers and the browser that they share. Call
// it in TestMain.
func Main(m *testing.M) {
	code := m.Run()
	chrome.Stop()
	dbtest.Stop()
	os.Exit(code)
}

// Env is a running server with a real store, engine and node kinds.
type Env struct {
	T        *testing.T
	Store    *db.Store
	Library  *library.Library
	Runner   *jobs.Runner
	Server   *handlers.Server
	Settings handlers.Config // of the server
	Http     *httptest.Server
	Log      *logBuffer
	kinds    *flow.Registry
}

// Kinds returns all node kinds. Their requests may reach servers on the loopback address. They have no knowledge bases.
var Kinds = sync.OnceValue(func() *flow.Registry { return kindsOn(nil) })

// model is the built-in one.
var model = sync.OnceValue(builtin.New)

// code runs programs.
var code = sync.OnceValue(javascript.New)

// kindsOn returns all node kinds, with the knowledge bases of a store.
func kindsOn(store *db.Store) *flow.Registry { return kindsWith(store, newClient()) }

// newClient returns a client that may reach servers on the loopback address.
func newClient() *outbound.Client {
	client, err := outbound.New(outbound.Config{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		panic(err)
	}
	return client
}

// kindsWith is kindsOn with a client for their requests.
func kindsWith(store *db.Store, client *outbound.Client) *flow.Registry {
	d := nodes.Deps{HTTP: client, Providers: providers.NewClient(providers.Guarded(client)), Documents: tables(), Model: model(), Code: code()}
	if store != nil {
		d.Knowledge, d.Tests = &store.Bases, store
	}
	return nodes.New(d)
}

// tables reads documents and the tables of batches.
var tables = sync.OnceValue(func() *documents.Reader { return documents.New(documents.Config{Working: outbound.Report}) })

// Setup starts a server whose default workspace has an owner.
func Setup(t *testing.T, set ...func(*handlers.Config)) *Env {
	t.Helper()
	h := SetupOn(t, dbtest.SQLite(t), set...)
	h.Add("founder@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	return h
}

// SetupOn starts a server without users on the given store.
func SetupOn(t *testing.T, store *db.Store, set ...func(*handlers.Config)) *Env {
	t.Helper()
	client := newClient()
	h := &Env{T: t, Store: store, Log: &logBuffer{}, kinds: kindsWith(store, client)}
	h.Library = &library.Library{Store: h.Store, Kinds: h.kinds, IDs: flow.NewIDs(), CheckArguments: agents.CheckArguments, Rights: h.Store, Reach: h.Store}
	h.Runner = h.startRunner()
	h.Http = httptest.NewUnstartedServer(nil)
	cfg := handlers.Config{
		Store: h.Store, Library: h.Library, Runner: h.Runner, Kinds: h.kinds, Tables: tables(), PublicURL: "http://" + h.Http.Listener.Addr().String(),
		Log:    slog.New(slog.NewTextHandler(h.Log, nil)),
		Models: FakeModels{}, Providers: FakeProviders{Store: h.Store}, Catalog: FakeCatalog{},
		Compile:  func(source string, names ...string) error { _, err := expression.Compile(source, names...); return err },
		Evaluate: expression.Evaluate, Filter: bases.Filter, Past: jobs.PastOf(h.Runner),
		Embed: func(ctx context.Context, ws flow.WorkspaceID, text string) ([]float32, error) {
			return bases.EmbedQuery(ctx, model(), ws, text)
		},
		Scope: func(variables map[string]any) hooks.Eval { return expression.NewScope(variables).Eval },
	}
	cfg.Links = &filelinks.Signer{Base: cfg.PublicURL, Key: []byte("a key of the test, thirty-two by")}
	for _, f := range set {
		f(&cfg)
	}
	if err := client.SetOwn(cfg.PublicURL, cfg.Links.Key); err != nil {
		t.Fatal(err)
	}
	h.Settings, h.Server = cfg, handlers.New(cfg)
	h.Store.FlowEdited, h.Store.OnBroadcast = h.Server.FlowEdited, h.Server.OnBroadcast
	h.Http.Config, h.Http.Listener = &web.NewHTTPServer(h.Server).Server, conns.Listen(h.Http.Listener)
	h.Http.Start()
	t.Cleanup(func() { h.Server.Drain(); h.Http.Close(); h.Server.Close() })
	return h
}

// startRunner starts the job runner and stops it when the test ends. Its instance name is
// unique, because tests share PostgreSQL servers.
func (h *Env) startRunner() *jobs.Runner {
	h.T.Helper()
	instance := "test-" + rand.Text()
	quiet := slog.New(slog.DiscardHandler)
	queue, err := jobs.NewQueue(jobs.QueueConfig{SQLite: h.Store.SQLite(), Write: h.Store.WriteQueue, Postgres: db.Pool(h.Store), Workers: 8, Instance: instance, Poll: time.Hour, Log: quiet})
	if err != nil {
		h.T.Fatal(err)
	}
	h.Store.UseQueue(queue)
	h.Store.RunEnded = func(run *flow.Run) (string, []byte) { return "run." + string(run.State), []byte(`{}`) }
	r := jobs.New(jobs.Config{
		ProviderOf: nodes.ProviderOf, Calls: outbound.WithCalls,
		Widened: func(ctx context.Context, run *flow.Run) (map[string][]string, error) {
			return library.WidenedTools(ctx, h.Library, run.WorkspaceID, run.FlowID, run.Version)
		},
		StartTest: func(ctx context.Context, t *triggers.Trigger, o *flow.Occurrence, claim string) (flow.Started, error) {
			return library.StartScheduled(ctx, h.Library, t, o, claim)
		},
		Store: h.Store, Queue: queue, Kinds: h.kinds, Secrets: &flow.Resolver{Store: h.Store}, Prices: FakePrices{}, Files: h.Store, HTTP: http.DefaultClient,
		Links: &filelinks.Signer{Base: "http://files.test", Key: []byte("secret that signs links in tests")}, Instance: instance, Workers: 8, Log: quiet,
	})
	if err := r.Start(context.Background()); err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := r.Drain(ctx); err != nil {
			h.T.Error(err)
		}
	})
	return r
}

// Flow imports a document into the default workspace.
func (h *Env) Flow(document string) (id string) {
	h.T.Helper()
	f, err := h.Library.Import(context.Background(), flow.DefaultWorkspace, "", []byte(document))
	if err != nil {
		h.T.Fatal(err)
	}
	return string(f.ID)
}

// Password is the password of all users in tests.
const Password = "correct horse battery"

// PasswordHash is the hash of Password, with the weakest parameters that Argon2
// permits. The real ones take a tenth of a second and 64 MiB for each user of each
// test.
var PasswordHash = sync.OnceValue(func() string {
	hash, err := argon2id.CreateHash(Password, &argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
	if err != nil {
		panic(err)
	}
	return hash
})

// As signs in a new user who has the role in the default workspace.
func (h *Env) As(role flow.MemberRole) *Browser {
	h.T.Helper()
	return h.SignIn(h.Person(role))
}

// Person creates a member of the default workspace and returns the email address.
func (h *Env) Person(role flow.MemberRole) string {
	h.T.Helper()
	return h.Add(string(role)+"-"+strings.ToLower(rand.Text()[:6])+"@example.com", flow.DefaultWorkspace, role).Email
}

// Add creates a user with Password.
func (h *Env) Add(email string, ws flow.WorkspaceID, role flow.MemberRole) *flow.User {
	h.T.Helper()
	u := &flow.User{Email: email, Name: strings.Split(email, "@")[0], PasswordHash: PasswordHash()}
	if err := h.Store.CreateUser(context.Background(), ws, u, role); err != nil {
		h.T.Fatal(err)
	}
	return u
}

// SignIn returns a browser that is signed in as the user with an email address.
func (h *Env) SignIn(email string) *Browser {
	h.T.Helper()
	b := h.Anonymous()
	b.Post("/sign-in", url.Values{"email": {email}, "password": {Password}}).RedirectsTo("/flows")
	return b
}

// Anonymous returns a browser that is not signed in. It does not follow redirects.
func (h *Env) Anonymous() *Browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.T.Fatal(err)
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Browser{T: h.T, Base: h.Http.URL, Client: &http.Client{Jar: jar, CheckRedirect: stay, Timeout: 5 * time.Minute}}
}

// Browser sends requests with the headers of a browser and keeps cookies.
type Browser struct {
	T      *testing.T
	Base   string
	Client *http.Client
	htmx   bool
}

// Fragment returns a copy of the browser that sends requests as htmx does, for fragments.
func (b *Browser) Fragment() *Browser {
	other := *b
	other.htmx = true
	return &other
}

// Answer is a response.
type Answer struct {
	T      *testing.T
	Status int
	Header http.Header
	Body   string
}

func (b *Browser) Get(path string) *Answer { b.T.Helper(); return b.Send("GET", path, "", nil) }

// Post submits a form in the URL encoding that browsers use for forms without files.
func (b *Browser) Post(path string, form url.Values) *Answer {
	b.T.Helper()
	return b.Send("POST", path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
}

func (b *Browser) PostJSON(path, body string) *Answer {
	b.T.Helper()
	return b.Send("POST", path, "application/json", strings.NewReader(body))
}

func (b *Browser) Send(method, path, mime string, body io.Reader, change ...func(r *http.Request)) *Answer {
	b.T.Helper()
	r, err := http.NewRequest(method, b.Base+path, body)
	if err != nil {
		b.T.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if mime != "" {
		r.Header.Set("Content-Type", mime)
	}
	if b.htmx {
		r.Header.Set("HX-Request", "true")
		r.Header.Set("HX-Request-Type", "partial")
	}
	for _, c := range change {
		c(r)
	}
	resp, err := b.Client.Do(r)
	if err != nil {
		b.T.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.T.Fatal(err)
	}
	return &Answer{b.T, resp.StatusCode, resp.Header, string(text)}
}

// Is fails the test unless the response has the status.
func (a *Answer) Is(status int) *Answer {
	a.T.Helper()
	if a.Status != status {
		a.T.Fatalf("status %d, want %d: %s", a.Status, status, a.Body)
	}
	return a
}

// RedirectsTo fails the test unless the response redirects to a path, by HTTP or htmx.
func (a *Answer) RedirectsTo(path string) {
	a.T.Helper()
	to := a.Header.Get("Location") + a.Header.Get("HX-Redirect")
	if to != path {
		a.T.Fatalf("status %d redirects to %q, want %q: %s", a.Status, to, path, a.Body)
	}
}

// Has fails the test unless the body contains all texts.
func (a *Answer) Has(texts ...string) *Answer {
	a.T.Helper()
	for _, text := range texts {
		if !strings.Contains(a.Body, text) {
			a.T.Errorf("%q is missing in: %s", text, a.Body)
		}
	}
	return a
}

// Lacks fails the test if the body contains one of the texts.
func (a *Answer) Lacks(texts ...string) *Answer {
	a.T.Helper()
	for _, text := range texts {
		if strings.Contains(a.Body, text) {
			a.T.Errorf("%q should not be in: %s", text, a.Body)
		}
	}
	return a
}

// logBuffer keeps the log of the server. It is safe for concurrent use.
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
