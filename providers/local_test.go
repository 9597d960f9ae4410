package providers

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/outbound"
)

// pages is a server that answers GET requests with fixed JSON and counts all.
type pages struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func servePages(t *testing.T, answers map[string]string) *pages {
	t.Helper()
	p := &pages{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		p.asked = append(p.asked, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization")+string(body))
		p.mu.Unlock()
		answer, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		answerJSON(w, answer)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *pages) addr(t *testing.T) netip.AddrPort {
	t.Helper()
	u, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	return netip.MustParseAddrPort(u.Host)
}

// Responses of real servers, cut to what distinguishes them.
var (
	ollamaPages = map[string]string{"/api/version": `{"version":"0.12.3"}`, "/api/tags": `{"models":[{"name":"llama3:8b","digest":"365c0bd3c000"}]}`,
		"/v1/models": `{"object":"list","data":[{"id":"llama3:8b","object":"model","owned_by":"library"}]}`}
	lmStudioPages = map[string]string{"/api/v0/models": `{"object":"list","data":[{"id":"qwen","type":"llm","state":"loaded"}]}`,
		"/v1/models": `{"object":"list","data":[{"id":"qwen","object":"model","owned_by":"organization_owner"}]}`}
	llamaCppPages = map[string]string{"/health": `{"status":"ok"}`, "/props": `{"default_generation_settings":{},"total_slots":1}`,
		"/v1/models": `{"object":"list","data":[{"id":"m.gguf","object":"model","owned_by":"llamacpp"}]}`}
	vllmPages = map[string]string{"/version": `{"version":"0.11.0"}`,
		"/v1/models": `{"object":"list","data":[{"id":"org/m","object":"model","owned_by":"vllm"}]}`}
	// Sluice's own answers, and those of a server of no known kind.
	sluicePages = map[string]string{"/health": `{"status":"ok"}`, "/v1/flow": `{"data":[]}`}
	plainPages  = map[string]string{"/v1/models": `{"object":"list","data":[{"id":"x","owned_by":"me"}]}`, "/version": `{"version":"1"}`, "/health": `{}`}
)

// everywhere maps the ports of all presets to the given addresses, or to ports without a listener.
func everywhere(t *testing.T, at map[string]*pages) map[string]uint16 {
	t.Helper()
	ports := map[string]uint16{}
	for _, p := range localPresets {
		ports[p.Name] = 1 // tcpmux: nothing listens there, and no other test can
		if s, ok := at[p.Name]; ok {
			ports[p.Name] = s.addr(t).Port()
		}
	}
	return ports
}

// run starts a finder, which runs until the test ends, and waits for its first
// look.
func run(t *testing.T, cfg FinderConfig) *Finder {
	t.Helper()
	f := NewFinder(cfg)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { f.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	select {
	case <-f.Ready():
	case <-brief(t).Done():
		t.Fatal("it does not look")
	}
	return f
}

// patience is how long a server of a test may take on a busy machine.
const patience = 20 * time.Second

func TestFinder(t *testing.T) {
	t.Parallel()
	all := map[string]*pages{nameOllama: servePages(t, ollamaPages), nameLMStudio: servePages(t, lmStudioPages),
		nameLlamaCpp: servePages(t, llamaCppPages), nameVLLM: servePages(t, vllmPages)}
	var allowed []netip.AddrPort
	f := run(t, FinderConfig{Doer: newDoer(t), within: patience, ports: everywhere(t, all), Allow: func(a []netip.AddrPort) { allowed = a }})
	found := f.Found()
	want := []string{"ollama llama3:8b", "lmstudio qwen", "llamacpp m.gguf", "vllm org/m"}
	var got []string
	for _, s := range found {
		got = append(got, s.Preset.Name+" "+s.Models[0].ID)
		if server := all[s.Preset.Name]; s.BaseURL != server.URL+"/v1" || s.Addr != server.addr(t) {
			t.Errorf("%s is at %s, %s", s.Preset.Name, s.BaseURL, s.Addr)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("found %v", got)
	}
	if !reflect.DeepEqual(allowed, f.Candidates()) || len(allowed) != 4 {
		t.Errorf("allowed %v", allowed)
	}
	for _, s := range all {
		s.mu.Lock()
		for _, asked := range s.asked {
			if !strings.HasPrefix(asked, "GET /") || !strings.HasSuffix(asked, " ") {
				t.Errorf("sent %q unasked", asked)
			}
		}
		s.mu.Unlock()
	}
}

// TestFinderTellsApart puts every server at every preset's port.
func TestFinderTellsApart(t *testing.T) {
	t.Parallel()
	for of, answers := range map[string]map[string]string{nameOllama: ollamaPages, nameLMStudio: lmStudioPages, nameLlamaCpp: llamaCppPages,
		nameVLLM: vllmPages, "sluice": sluicePages, "plain": plainPages} {
		for _, p := range localPresets {
			t.Run(of+" at the port of "+p.Name, func(t *testing.T) {
				t.Parallel()
				f := NewFinder(FinderConfig{Doer: newDoer(t), within: patience, ports: everywhere(t, map[string]*pages{p.Name: servePages(t, answers)})})
				f.look(brief(t))
				if found := f.Found(); len(found) > 0 != (of == p.Name) {
					t.Errorf("found %+v", found)
				}
			})
		}
	}
}

func TestFinderFollowsChanges(t *testing.T) {
	t.Parallel()
	s := servePages(t, ollamaPages)
	f := run(t, FinderConfig{Doer: newDoer(t), within: patience, every: 5 * time.Millisecond, ports: everywhere(t, map[string]*pages{nameOllama: s})})
	if found := f.Found(); len(found) != 1 {
		t.Fatalf("found %+v", found)
	}
	f.Found()[0].Models[0].ID = "changed"
	if id := f.Found()[0].Models[0].ID; id != "llama3:8b" {
		t.Errorf("what it found was changed to %q", id)
	}
	s.Close()
	for ctx := brief(t); len(f.Found()) > 0; runtime.Gosched() {
		if ctx.Err() != nil {
			t.Fatalf("still found %+v", f.Found())
		}
	}
}

// TestFinderGivesUp meets servers that answer too late, too much or elsewhere.
func TestFinderGivesUp(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"too late":  func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"endless":   func(w http.ResponseWriter, _ *http.Request) { endlessly(w) },
		"elsewhere": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/api/version", http.StatusFound) },
		"text":      func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "Ollama is running") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &pages{Server: httptest.NewServer(handler)}
			t.Cleanup(s.Close)
			f := NewFinder(FinderConfig{Doer: newDoer(t), ports: everywhere(t, map[string]*pages{nameOllama: s})})
			f.look(brief(t))
			if found := f.Found(); len(found) > 0 {
				t.Errorf("found %+v", found)
			}
		})
	}
}

func endlessly(w http.ResponseWriter) {
	for {
		if _, err := io.WriteString(w, strings.Repeat(" ", 4096)); err != nil {
			return
		}
	}
}

func TestFinderLeavesItselfAlone(t *testing.T) {
	t.Parallel()
	for _, self := range []string{"127.0.0.1:8080", "0.0.0.0:8080", "[::]:8080", "[::1]:8080", "127.0.0.5:8080"} {
		f := NewFinder(FinderConfig{Self: []netip.AddrPort{netip.MustParseAddrPort(self)}})
		for _, addr := range f.Candidates() {
			if addr.Port() == 8080 {
				t.Errorf("it would ask itself at %s", addr)
			}
		}
		if len(f.Candidates()) != 3 {
			t.Errorf("%s: asks %v", self, f.Candidates())
		}
	}
}

func TestOllamaHost(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"":                        "http://127.0.0.1:11434 127.0.0.1:11434",
		"127.0.0.1":               "http://127.0.0.1:11434 127.0.0.1:11434",
		"localhost:9999":          "http://127.0.0.1:9999 127.0.0.1:9999",
		":9999":                   "http://127.0.0.1:9999 127.0.0.1:9999",
		"0.0.0.0":                 "http://127.0.0.1:11434 127.0.0.1:11434",
		"0.0.0.0:9999":            "http://127.0.0.1:9999 127.0.0.1:9999",
		"[::]:9999":               "http://[::1]:9999 [::1]:9999",
		"::1":                     "http://[::1]:11434 [::1]:11434",
		`"192.168.1.7"`:           "http://192.168.1.7:11434 192.168.1.7:11434",
		"http://192.168.1.7:9999": "http://192.168.1.7:9999 192.168.1.7:9999",
		"http://192.168.1.7/":     "http://192.168.1.7:80 192.168.1.7:80",
		"https://192.168.1.7":     "https://192.168.1.7:443 192.168.1.7:443",
		"ollama:11434":            "http://ollama:11434 10.9.8.7:11434",
		"nowhere":                 "",
		"ftp://x":                 "",
		"host:port":               "",
	} {
		lookup := func(_ context.Context, _, host string) ([]netip.Addr, error) {
			if host == "ollama" {
				return []netip.Addr{netip.MustParseAddr("10.9.8.7")}, nil
			}
			return nil, io.EOF
		}
		var allowed []netip.AddrPort
		f := NewFinder(FinderConfig{OllamaHost: value, lookup: lookup, Allow: func(a []netip.AddrPort) { allowed = a }})
		got := ""
		for _, c := range f.places(brief(t)) {
			if c.preset == nameOllama && c.addr.IsValid() {
				got = c.origin + " " + c.addr.String()
			}
		}
		if got != want {
			t.Errorf("%q: got %q, wanted %q", value, got, want)
		}
		if value == "ollama:11434" && (len(allowed) == 0 || allowed[0].String() != "10.9.8.7:11434") {
			t.Errorf("allowed %v", allowed)
		}
	}
}

// TestFinderThroughTheGuard finds a server on loopback only because Allow tells
// the guard of it.
func TestFinderThroughTheGuard(t *testing.T) {
	t.Parallel()
	client, err := outbound.New(outbound.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	ports := everywhere(t, map[string]*pages{nameOllama: servePages(t, ollamaPages)})
	closed := NewFinder(FinderConfig{Doer: Guarded(client), ports: ports})
	closed.look(brief(t))
	if found := closed.Found(); len(found) > 0 {
		t.Errorf("found %+v behind the guard", found)
	}
	open := run(t, FinderConfig{Doer: Guarded(client), within: patience, ports: ports, Allow: client.SetEndpoints})
	if found := open.Found(); len(found) != 1 || found[0].Preset.Name != nameOllama {
		t.Errorf("found %+v", found)
	}
}
