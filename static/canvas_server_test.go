package static_test

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/flow"
	"sluice/flow/document"
)

// draftServer shows one flow on a page and keeps its draft in memory. Edits are
// applied by package flow; revisions, the log and deduplication are simulated.
type draftServer struct {
	*httptest.Server
	assets  http.Handler
	names   map[string]string // plain name of an asset to its address
	offline atomic.Bool       // requests for ops fail; pages still load
	gone    atomic.Bool       // the log no longer reaches back far enough
	refuse  atomic.Pointer[string]
	hold    atomic.Pointer[chan struct{}]
	piece   atomic.Pointer[string] // the response of /fragment

	mu  sync.Mutex
	rev int64
	log []loggedTx
	doc *flow.Document
}

type loggedTx struct {
	Rev  int64           `json:"rev"`
	Tab  string          `json:"tab"`
	TxID string          `json:"txid"`
	Ops  []document.Edit `json:"ops"`
	HTML string          `json:"html,omitempty"`
}

// testDocument is the part of a document that tests write and read.
type testDocument struct {
	Schema string      `json:"schema"`
	Name   string      `json:"name"`
	Nodes  []testNode  `json:"nodes"`
	Edges  []testEdge  `json:"edges"`
	Groups []testGroup `json:"groups,omitempty"`
}

type testNode struct {
	ID       string         `json:"id"`
	Kind     string         `json:"kind"`
	Label    string         `json:"label,omitempty"`
	Disabled bool           `json:"disabled,omitempty"`
	Position point          `json:"position"`
	Config   map[string]any `json:"config"`
}

type testEdge struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type testGroup struct {
	ID    string   `json:"id"`
	Label string   `json:"label,omitempty"`
	Color string   `json:"color,omitempty"`
	Nodes []string `json:"nodes"`
}

type point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// testKinds are the ports of kinds, written "side name type", with "many" for a list port.
var testKinds = map[string][]string{
	"input":   {"out value text"},
	"number":  {"out value number"},
	"chat":    {"in prompt text", "in tone text", "out text text", "out json json"},
	"upper":   {"in text text", "out text text"},
	"combine": {"in values any many", "out list list"},
	"file":    {"out file file"},
	"output":  {"in value any"},
	"note":    {},
}

// sampleFlow has one node of each kind; write is in the middle.
func sampleFlow() testDocument {
	node := func(id, kind string, x, y float64) testNode {
		return testNode{ID: id, Kind: kind, Position: point{x, y}, Config: map[string]any{"name": id}}
	}
	return testDocument{
		Nodes: []testNode{
			node("ticket", "input", 0, 0), node("tone", "input", 0, 200), node("write", "chat", 300, 0),
			node("answer", "output", 600, 0), node("join", "combine", 300, 240), node("plain", "upper", 600, 240),
		},
		Edges: []testEdge{{"ticket.value", "write.prompt"}, {"write.text", "answer.value"}},
	}
}

func serveDraft(t *testing.T, doc testDocument) *draftServer {
	t.Helper()
	assets, names := builtCanvas(t)
	s := &draftServer{doc: documentOf(doc), assets: assets, names: names, rev: 1}
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", assets)
	mux.HandleFunc("GET /", s.page)
	mux.HandleFunc("GET /fragment", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(*s.piece.Load())) })
	mux.HandleFunc("GET /ops", s.since)
	mux.HandleFunc("POST /ops", s.change)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *draftServer) page(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	attributes := ""
	if r.URL.Query().Has("readonly") {
		attributes = " readonly"
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><head><title>Flow</title><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,"><link rel="stylesheet" href="%s"><link rel="stylesheet" href="%s"><link rel="stylesheet" href="%s"><link rel="stylesheet" href="%s"><script type="module" src="%s"></script>
<style>body { margin: 0 } flow-canvas { width: 100vw; height: 90vh } .row { position: relative; height: 24px; padding: 0 12px }</style></head><body>
<button id="before">Before</button>
<flow-canvas flow="flow_1" rev="%d" ops="/ops" aria-label="Flow"%s><div class="canvas-nodes" id="canvas-nodes">`,
		s.names["app.css"], s.names["canvas.css"], s.names["panes.css"], s.names["late.css"], s.names["app.js"], s.rev, attributes)
	for _, n := range view(s.doc).Nodes {
		_, _ = w.Write([]byte(article(n)))
	}
	_, _ = fmt.Fprintf(w, `</div><script type="application/json" class="canvas-document">%s</script></flow-canvas><button id="after">After</button></body></html>`,
		strings.ReplaceAll(string(s.doc.Compact()), "<", `\u003c`))
}

// article renders a node as the views do: content and ports, no state of the canvas.
func article(n testNode) string {
	var b strings.Builder
	title := n.Label
	if title == "" {
		title = n.ID
	}
	_, _ = fmt.Fprintf(&b, `<article class="node" id="node-%[1]s" data-id="%[1]s" data-kind="%[2]s" data-x="%g" data-y="%g"><header class="row" data-title>%s</header>`,
		n.ID, n.Kind, n.Position.X, n.Position.Y, html.EscapeString(title))
	for _, p := range append(slices.Clone(testKinds[n.Kind]), extraPorts(n)...) {
		b.WriteString(port(strings.Fields(p)))
	}
	b.WriteString(`</article>`)
	return b.String()
}

func extraPorts(n testNode) []string {
	var list []string
	for i := range int(number(n.Config["extra"])) {
		list = append(list, fmt.Sprintf("in extra%d text", i))
	}
	return list
}

func number(v any) float64 { f, _ := v.(float64); return f }

func port(p []string) string {
	many := ""
	if len(p) > 3 {
		many = " data-many"
	}
	return fmt.Sprintf(`<div class="row" data-far-hide><button type="button" data-port="%[2]s" data-side="%[1]s" data-type="%[3]s"%[4]s aria-label="%[2]s, %[3]s"></button><span class="%[1]s">%[2]s</span></div>`, p[0], p[1], p[2], many)
}

func (s *draftServer) since(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	base, _ := strconv.ParseInt(r.URL.Query().Get("since"), 10, 64)
	answer(w, http.StatusOK, map[string]any{"rev": s.rev, "missed": s.after(base)})
}

func (s *draftServer) after(base int64) []loggedTx {
	return slices.DeleteFunc(slices.Clone(s.log), func(tx loggedTx) bool { return tx.Rev <= base })
}

func (s *draftServer) change(w http.ResponseWriter, r *http.Request) {
	if s.offline.Load() {
		panic(http.ErrAbortHandler) // the connection breaks, as without a network
	}
	if s.gone.Load() {
		answer(w, http.StatusGone, map[string]any{"detail": "Load the page again."})
		return
	}
	if gate := s.hold.Load(); gate != nil {
		<-*gate
	}
	text, err := io.ReadAll(r.Body)
	must(err)
	body, err := document.DecodeEditRequest(text)
	if err != nil {
		answer(w, http.StatusUnprocessableEntity, map[string]any{"detail": err.Error()})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := slices.ContainsFunc(s.log, func(tx loggedTx) bool { return tx.TxID == body.TxID })
	reason := s.refuse.Load()
	switch {
	case known:
		answer(w, http.StatusOK, map[string]any{"rev": s.rev})
	case body.Base < s.rev:
		answer(w, http.StatusConflict, map[string]any{"rev": s.rev, "missed": s.after(body.Base)})
	case reason != nil:
		answer(w, http.StatusUnprocessableEntity, map[string]any{"detail": *reason})
	default:
		rendered, err := s.apply(body.Tab, body.TxID, body.Ops)
		if err != nil {
			answer(w, http.StatusUnprocessableEntity, map[string]any{"detail": err.Error()})
			return
		}
		answer(w, http.StatusOK, map[string]any{"rev": s.rev, "html": rendered})
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// apply applies edits as the server does and logs them. It returns the nodes
// that look different, rendered.
func (s *draftServer) apply(tab, txid string, ops []document.Edit) (string, error) {
	out, err := document.ApplyEdits(s.doc, ops)
	if err != nil {
		return "", err
	}
	s.doc = out.Document
	var b strings.Builder
	d := view(s.doc)
	for _, id := range document.Changed(out.Ops) {
		d.with(id, func(n *testNode) { b.WriteString(article(*n)) })
	}
	s.rev++
	s.log = append(s.log, loggedTx{Rev: s.rev, Tab: tab, TxID: txid, Ops: out.Ops, HTML: b.String()})
	return b.String(), nil
}

// document converts d to a document of the server.
func documentOf(d testDocument) *flow.Document {
	d.Schema, d.Name = flow.Schema, "Flow"
	text, err := json.Marshal(d)
	must(err)
	parsed, problems := document.ParseDocument(text)
	if len(problems) > 0 {
		panic(problems[0].Detail)
	}
	return parsed
}

// view returns the part of a document that tests read.
func view(d *flow.Document) (v testDocument) {
	must(json.Unmarshal(d.Compact(), &v))
	return v
}

func (d *testDocument) with(id string, do func(*testNode)) {
	for i := range d.Nodes {
		if d.Nodes[i].ID == id {
			do(&d.Nodes[i])
		}
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// now returns the server's document, for comparisons.
func (s *draftServer) now() testDocument {
	s.mu.Lock()
	defer s.mu.Unlock()
	return view(s.doc)
}

func (s *draftServer) position(id string) point {
	var p point
	d := s.now()
	d.with(id, func(n *testNode) { p = n.Position })
	return p
}

func (s *draftServer) has(e testEdge) bool { return slices.Contains(s.now().Edges, e) }

// fragment sets a node as the response of /fragment.
func (s *draftServer) fragment(n testNode) {
	text := article(n)
	s.piece.Store(&text)
}

// line returns a transaction as the event stream sends it.
func (s *draftServer) line(t *testing.T, rev int64) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, tx := range s.log {
		if tx.Rev == rev {
			text, err := json.Marshal(tx)
			must(err)
			return string(text)
		}
	}
	t.Fatalf("the log has no revision %d", rev)
	return ""
}
