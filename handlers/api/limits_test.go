package api

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/fairness"
	"sluice/handlers/web"
)

func TestRateLimit(t *testing.T) {
	t.Parallel()
	w := setup(t)
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	w.now = func() time.Time { return now }
	key := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRead}, RPM: 3})
	get := func() *reply { return w.send(request{method: "GET", path: "/v1/flow", key: key}) }
	for i, want := range []string{`"requests";r=2;t=20`, `"requests";r=1;t=40`, `"requests";r=0;t=60`} {
		a := get()
		a.want(t, 200)
		if a.header.Get("RateLimit") != want || a.header.Get("RateLimit-Policy") != `"requests";q=3;w=60` {
			t.Errorf("request %d: RateLimit %s, RateLimit-Policy %s", i, a.header.Get("RateLimit"), a.header.Get("RateLimit-Policy"))
		}
	}
	a := get()
	a.wantCode(t, 429, flow.CodeRateLimited)
	if a.header.Get("Retry-After") != "20" || a.header.Get("RateLimit") != `"requests";r=0;t=60` {
		t.Errorf("Retry-After %s, RateLimit %s", a.header.Get("Retry-After"), a.header.Get("RateLimit"))
	}
	now = now.Add(20 * time.Second)
	get().want(t, 200)
	get().want(t, 429)
	if a := w.get("/v1/flow"); a.status != 200 || a.header.Get("RateLimit") != "" {
		t.Errorf("a key without a limit: %d, RateLimit %q", a.status, a.header.Get("RateLimit"))
	}
}

// TestRateLimit_counts_all_instances checks that requests to other instances count, and that
// the store is only asked if the count of this instance allows the request.
func TestRateLimit_counts_all_instances(t *testing.T) {
	t.Parallel()
	w := setup(t)
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	w.now = func() time.Time { return now }
	key := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRead}, RPM: 3})
	for i, c := range []struct {
		all    fairness.Rate
		status int
		limit  string
		retry  string
	}{
		{fairness.Rate{OK: true, Left: 1, Full: 40 * time.Second}, 200, `"requests";r=1;t=40`, ""},
		{fairness.Rate{Full: 59500 * time.Millisecond, Wait: 19500 * time.Millisecond}, 429, `"requests";r=0;t=60`, "20"},
		{fairness.Rate{OK: true, Full: time.Minute}, 200, `"requests";r=0;t=60`, ""},
		{fairness.Rate{OK: true, Left: 2}, 429, `"requests";r=0;t=60`, "20"},
	} {
		w.store.rate = &c.all
		a := w.send(request{method: "GET", path: "/v1/flow", key: key})
		if h := a.header; a.status != c.status || h.Get("RateLimit") != c.limit || h.Get("Retry-After") != c.retry {
			t.Errorf("request %d: %d, RateLimit %s, Retry-After %s", i, a.status, h.Get("RateLimit"), h.Get("Retry-After"))
		}
	}
	if len(w.store.rated) != 3 || !strings.HasPrefix(w.store.rated[0], "key:key_") {
		t.Errorf("asked for %v", w.store.rated)
	}
}

func TestRateLimitFollowsTheKey(t *testing.T) {
	t.Parallel()
	r := newRates()
	key := &flow.Key{ID: "key_1", RPM: 3}
	r.bucket(key)
	key.RPM = 600
	if b := r.bucket(key); b.Burst() != 600 || b.Limit() != 10 {
		t.Errorf("the bucket still holds %d at %v", b.Burst(), b.Limit())
	}
}

func TestRejectedStarts_have_a_Retry_After_header(t *testing.T) {
	t.Parallel()
	w := setup(t)
	key := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun}, Concurrency: 5, RPM: 60})
	noon := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		err            *flow.Error
		status         int
		retry          string
		policy, limits string
	}{
		{&flow.Error{Code: flow.CodeConcurrencyLimited, Message: "x"}, 429, "1", `"requests";q=60;w=60, "runs";q=5;qu="concurrent-requests"`, `"runs";r=0;t=1`},
		{&flow.Error{Code: flow.CodeQueueFull, Message: "x", After: 7 * time.Second}, 429, "7", `"requests";q=60;w=60, "queue";q=0;qu="concurrent-requests"`, `"queue";r=0;t=7`},
		{&flow.Error{Code: flow.CodeStorageFull, Message: "x"}, 503, "30", `"requests";q=60;w=60`, ""},
		{&flow.Error{Code: flow.CodeDraining, Message: "x"}, 503, "5", `"requests";q=60;w=60`, ""},
		{&flow.Error{Code: flow.CodeOverloaded, Message: "x", After: 1500 * time.Millisecond}, 503, "2", `"requests";q=60;w=60`, ""},
		{&flow.Error{Code: flow.CodeIdempotencyInProgress, Message: "x"}, 409, "1", `"requests";q=60;w=60`, ""},
		{(&flow.Budget{KeyID: "key_1", Name: "billing", Unit: flow.BudgetRuns, Limit: 5, Used: 5}).Refusal(noon), 402, "43200", `"requests";q=60;w=60, "runs-per-day";q=5;w=86400`, `"runs-per-day";r=0;t=43200`},
		{(&flow.Budget{FlowID: "flow_1", Unit: flow.BudgetUSD, Limit: 125e7, Used: 1_250_001_000}).Refusal(noon), 402, "43200", `"requests";q=60;w=60, "usd-per-day";q=1250000;qu="micro-usd";w=86400`, `"usd-per-day";r=0;t=43200`},
	}
	for _, test := range tests {
		w.runner.mu.Lock()
		w.runner.refuse = test.err
		w.runner.mu.Unlock()
		a := w.send(request{method: "POST", path: "/v1/flow/" + w.echo + "/run", key: key, body: `{"ticket": "a"}`})
		a.wantCode(t, test.status, test.err.Code)
		if h := a.header; h.Get("Retry-After") != test.retry || h.Get("RateLimit-Policy") != test.policy || !strings.HasSuffix(h.Get("RateLimit"), test.limits) {
			t.Errorf("%s: Retry-After %s, RateLimit-Policy %s, RateLimit %s", test.err.Code, h.Get("Retry-After"), h.Get("RateLimit-Policy"), h.Get("RateLimit"))
		}
	}
}

func TestOverload(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *Config) { c.MaxInFlight, c.MaxHeld = 2, 1 })
	path := w.heldRun("never")
	s := w.stream(request{method: "GET", path: path + "/events"})
	s.next()
	w.get(path).want(t, 200)
	a := w.get(path + "?wait=1") // the stream uses the only slot for held requests
	a.wantCode(t, 503, flow.CodeOverloaded)
	if a.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
	}
	w.post("/v1/flow/"+w.echo+"/run", `{"ticket": "a"}`, "Prefer", "wait=1").wantCode(t, 503, flow.CodeOverloaded)
	if len(w.store.runs) != 1 {
		t.Error("a refused start was stored")
	}
	w.server.gate.busy.Add(2)
	w.send(request{method: "GET", path: path, key: "-"}).wantCode(t, 503, flow.CodeOverloaded)
	w.send(request{method: "GET", path: "/livez", key: "-"}).want(t, 200)
	w.server.gate.busy.Add(-2)
	w.get(path).want(t, 200)
}

// TestSlowLoris checks that many connections that send part of a request do not block
// other clients.
func TestSlowLoris(t *testing.T) {
	t.Parallel()
	w := setup(t)
	halves := []string{
		"GET /v1/flow HT",
		"GET /v1/flow HTTP/1.1\r\nHost: x\r\nX-A: b\r\n",
		"POST /v1/flow/" + w.echo + "/run HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + w.key + "\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{",
		"POST /v1/flow/" + w.echo + "/run HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{",
	}
	var conns sync.WaitGroup
	for i := range 300 {
		conns.Go(func() {
			c, err := net.Dial("tcp", w.http.Listener.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { c.Close() })
			if _, err := io.WriteString(c, halves[i%len(halves)]); err != nil {
				t.Error(err)
			}
		})
	}
	conns.Wait()
	begun := time.Now()
	w.get("/v1/flow").want(t, 200)
	if d := time.Since(begun); d > 2*time.Second {
		t.Errorf("an honest request took %s", d)
	}
}

func TestBodyMustArriveInTime(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.setBodyTimeout(20 * time.Millisecond)
	for name, head := range map[string]string{
		"a body of known length":  "Content-Length: 100\r\n\r\n{",
		"a body in chunks":        "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
		"a body that nobody read": "X-Request-Id: unread\r\nContent-Length: 100\r\n\r\n{",
	} {
		c, err := net.Dial("tcp", w.http.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		key := w.key
		if strings.Contains(name, "nobody") {
			key = "none"
		}
		fmt.Fprintf(c, "POST /v1/flow/%s/run HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\n%s", w.echo, key, head)
		answer, err := io.ReadAll(c) // the server ends the connection
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 4") {
			t.Errorf("%s: %v %s", name, err, answer)
		}
	}
}

// TestRejection_arrives_although_the_body_is_unread checks that the body is drained: closing a
// connection with unread bytes resets it, and the client could lose the response. Clients in
// Python close the connection after every request.
func TestRejection_arrives_although_the_body_is_unread(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for name, size := range map[string]int{"a body": 200 << 10, "a large body": 20 << 20} {
		c, err := net.Dial("tcp", w.http.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		sent := make(chan error, 1)
		go func() {
			_, err := fmt.Fprintf(c, "POST /v1/flow/%s/run HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer none\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", w.echo, size, strings.Repeat(" ", size))
			sent <- err
		}()
		answer, err := io.ReadAll(c)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 401") {
			t.Errorf("%s: %v %.100s", name, err, answer)
		}
		if err := <-sent; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestServerHasTimeLimits(t *testing.T) {
	t.Parallel()
	srv := web.NewHTTPServer(nil)
	if srv.ReadHeaderTimeout == 0 || srv.IdleTimeout == 0 || srv.MaxHeaderBytes == 0 {
		t.Errorf("server is %+v", srv)
	}
	if srv.ReadTimeout != 0 || srv.WriteTimeout != 0 {
		t.Error("a limit on whole requests would cut streams")
	}
}

// TestExceededQuota_is_named checks that a rejection names the quota.
func TestExceededQuota_is_named(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *Config) { c.Files = fullShelf{c.Files} })
	key := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun, flow.ScopeRead}})
	w.runner.mu.Lock()
	w.runner.refuse = flow.Quota{Unit: flow.QuotaRuns, Limit: 10_000, Used: 10_000}.Refusal()
	w.runner.mu.Unlock()
	a := w.send(request{method: "POST", path: "/v1/flow/" + w.echo + "/run", key: key, body: `{"ticket": "a"}`})
	a.wantCode(t, 402, flow.CodeQuotaExceeded)
	if got := string(flow.EncodeJSON(a.body["quota"])); got != `{"limit":10000,"unit":"runs","used":10000}` || !strings.Contains(flow.Text(a.body["detail"]), "keeps 10,000 of at most 10,000 runs. Delete runs") {
		t.Errorf("the refusal is %v", a.body)
	}
	a = w.upload(key, "a.txt", "text/plain", []byte("hello"))
	a.wantCode(t, 402, flow.CodeQuotaExceeded)
	if got, _ := a.body["quota"].(map[string]any); got["unit"] != "bytes" || got["limit"] != 1048576.0 || got["used"] != 1048570.0 || !strings.Contains(flow.Text(a.body["detail"]), "stores 1 MiB of at most 1 MiB, and this does not fit. Delete runs or files") {
		t.Errorf("the refusal is %v", a.body)
	}
}

// fullShelf is a file store whose quota is used up.
type fullShelf struct{ Files }

func (fullShelf) SaveFile(_ context.Context, _ flow.NewFile, content io.Reader) (*flow.File, error) {
	_, _ = io.Copy(io.Discard, content)
	return nil, flow.Quota{Unit: flow.QuotaBytes, Limit: 1 << 20, Used: 1<<20 - 6}.Refusal()
}

func TestExceededBudget_is_named(t *testing.T) {
	t.Parallel()
	w := setup(t)
	noon := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	w.now = func() time.Time { return noon }
	key := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun}})
	for want, b := range map[string]flow.Budget{
		`{"limit":5,"name":"billing","of":"key","resets_at":"2026-02-01T00:00:00.000Z","unit":"runs","used":5}`: {KeyID: "key_1", Name: "billing", Unit: flow.BudgetRuns, Limit: 5, Used: 5},
		`{"limit":1.25,"of":"flow","resets_at":"2026-02-01T00:00:00.000Z","unit":"usd","used":1.250001}`:        {FlowID: "flow_1", Unit: flow.BudgetUSD, Limit: 125e7, Used: 1_250_001_000},
	} {
		w.runner.mu.Lock()
		w.runner.refuse = b.Refusal(noon)
		w.runner.mu.Unlock()
		a := w.send(request{method: "POST", path: "/v1/flow/" + w.echo + "/run", key: key, body: `{"ticket": "a"}`})
		a.wantCode(t, 402, flow.CodeBudgetExceeded)
		if got := string(flow.EncodeJSON(a.body["budget"])); got != want || !strings.Contains(flow.Text(a.body["detail"]), "2026-02-01 00:00 UTC") {
			t.Errorf("got %s in %v, want %s", got, a.body, want)
		}
	}
}

// TestInvalidKeys checks that an address that sends invalid keys is rate-limited, and that
// valid keys from the same address still work.
func TestInvalidKeys(t *testing.T) {
	t.Parallel()
	for _, target := range []request{
		{method: "GET", path: "/v1/flow"},
		{method: "POST", path: "/mcp", body: `{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`},
	} {
		t.Run(target.path, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
			w.now = func() time.Time { return now }
			send := func(key string) *reply {
				r := target
				r.key = key
				return w.send(r)
			}
			for range invalidKeysPerMinute / 2 {
				send(flow.NewKeyText()).wantCode(t, 401, flow.CodeKeyInvalid)
				send("nonsense").wantCode(t, 401, flow.CodeKeyInvalid)
			}
			for _, key := range []string{flow.NewKeyText(), "nonsense"} {
				a := send(key)
				a.wantCode(t, 429, flow.CodeRateLimited)
				if got := a.header.Get("Retry-After"); got != "1" {
					t.Errorf("Retry-After %q", got)
				}
			}
			send(w.key).want(t, 200)
			send("-").wantCode(t, 401, flow.CodeKeyMissing)
			send(w.addKey(flow.Key{RevokedAt: now})).wantCode(t, 401, flow.CodeKeyRevoked)
			now = now.Add(time.Second)
			send("nonsense").wantCode(t, 401, flow.CodeKeyInvalid)
			send("nonsense").wantCode(t, 429, flow.CodeRateLimited)
		})
	}
}

// TestInvalidKeys_by_address checks that trusted proxies determine the address, and that an
// IPv6 /64 counts as one.
func TestInvalidKeys_by_address(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.server.invalidKeys = 1
	proxies, err := web.ParseProxies("127.0.0.1", "X-Forwarded-For")
	if err != nil {
		t.Fatal(err)
	}
	handler := proxies.Behind(w.server)
	from := func(client string) int {
		r := httptest.NewRequest("GET", "/v1/flow", nil)
		r.RemoteAddr = "127.0.0.1:1"
		r.Header.Set("X-Forwarded-For", client)
		r.Header.Set("Authorization", "Bearer nonsense")
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, r)
		return recorder.Code
	}
	for _, c := range []struct {
		client string
		status int
	}{
		{"192.0.2.1", 401}, {"192.0.2.1", 429}, {"192.0.2.2", 401}, {"::ffff:192.0.2.2", 429},
		{"2001:db8:1:2::1", 401}, {"2001:db8:1:2:ffff::9", 429}, {"2001:db8:1:3::1", 401},
	} {
		if got := from(c.client); got != c.status {
			t.Errorf("%s: %d, want %d", c.client, got, c.status)
		}
	}
}

func TestStrictTransportSecurity(t *testing.T) {
	t.Parallel()
	pages := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	for base, want := range map[string]string{
		"https://sluice.example.com": "max-age=31536000", "https://203.0.113.7:8443": "max-age=31536000",
		"http://sluice.example.com": "", "https://localhost:8443": "", "https://127.0.0.1": "", "https://[::1]:8443": "", "": "",
	} {
		w := setupBeside(t, pages, func(c *Config) { c.PublicURL = base })
		for _, path := range []string{"/v1/flow", "/mcp", "/livez", "/sign-in", "/v1/nothing"} {
			if got := w.get(path).header.Get("Strict-Transport-Security"); got != want {
				t.Errorf("%s at %q: %q, want %q", path, base, got, want)
			}
		}
	}
}
