package nodes

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"sluice/flow"
)

const articlePage = `<!doctype html><html lang="en"><head><title>How parcels travel | Example</title>
<meta name="author" content="Ada Lovelace"><meta property="og:site_name" content="Example"><meta name="description" content="From our door to yours.">
<meta property="article:published_time" content="2026-03-01T10:00:00Z"></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/shop">Shop everything now</a></li></ul></nav>
<article><h1>How parcels travel</h1>
<p>A parcel that leaves our door in the morning is sorted at noon, loaded in the evening and travels through the night. <a href="../track?id=1">Track yours</a> at any time, with the number that we send you.</p>
<p>At the other end a driver takes it, reads the address, and brings it to the door, a neighbour or the next shop. Nobody has to be at home, if you leave a note that says where it may stay.</p>
<table><tr><th>Weight</th><th>Days</th></tr><tr><td>1 kg</td><td>3</td></tr></table>
<p>Large parcels take a day longer, because they travel in another van, with two people, who can lift what one alone cannot carry up the stairs of an old house.</p>
<img src="data:image/png;base64,AAAA" alt="a van"></article>
<footer>Imprint, privacy, newsletter and cookies</footer><script>track()</script></body></html>`

func TestWebPage(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answer := map[string][2]string{
			"/help/article":  {"text/html; charset=utf-8", articlePage},
			"/sniffed":       {"", articlePage},
			"/latin":         {"text/html; charset=iso-8859-1", "<title>Z\xfcrich</title><p>Gr\xfc\xdfe aus Z\xfcrich"},
			"/meta":          {"text/html", "<meta charset=windows-1251><title>x</title><p>\xcf\xf0\xe8\xe2\xe5\xf2"},
			"/base":          {"text/html", "<base href=/other/><p><a href=x>go</a> <a href='javascript:a()'>no</a>"},
			"/plain":         {"text/plain; charset=utf-8", "# As *it* is\n"},
			"/empty":         {"text/html", ""},
			"/guess":         {"text/html", "<p>\xb1\xbe\xba\xcf\xcd\xac\xd7\xd4\xc7\xa9\xd7\xd6\xd6\xae\xc8\xd5\xc6\xf0\xc9\xfa\xd0\xa7\xa3\xac\xcb\xab\xb7\xbd\xd3\xa6\xb8\xb6\xbf\xee\xa1\xa3"},
			"/terms.pdf":     {"application/pdf", "%PDF-1.4\n\x00"},
			"/picture":       {"image/png", "\x89PNG\r\n\x1a\n\x00\x00"},
			"/error":         {"text/html", "<h1>Try later</h1>"},
			"/help/nowhere/": {"text/html", "x"},
		}[r.URL.Path]
		switch r.URL.Path {
		case "/old":
			http.Redirect(w, r, "/help/article", http.StatusMovedPermanently)
			return
		case "/none":
			w.WriteHeader(http.StatusNoContent)
			return
		case "/huge":
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, strings.Repeat("<p>much", maxPage/7+1))
			return
		}
		if answer[0] != "" {
			w.Header().Set("Content-Type", answer[0])
		}
		if r.URL.Path == "/error" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, answer[1])
	})
	page := func(path string) use { return use{kind: "web_page", config: map[string]any{"url": s.URL + path}} }
	t.Run("reads the article", func(t *testing.T) {
		t.Parallel()
		outputs := page("/old").succeeds(t, s.deps)
		text := flow.Text(outputs["text"])
		has(t, text, "A parcel that leaves our door", "[Track yours]("+s.URL+"/track?id=1)", "| Weight | Days |", "Large parcels")
		for _, noise := range []string{"Shop everything", "Imprint", "track()", "data:image"} {
			if strings.Contains(text, noise) {
				t.Errorf("%q is in the text: %s", noise, text)
			}
		}
		same(t, "url", outputs["url"], s.URL+"/help/article")
		has(t, flow.Text(outputs["title"]), "How parcels travel")
		same(t, "meta", outputs["meta"], map[string]any{"byline": "Ada Lovelace", "site": "Example", "language": "en",
			"excerpt": "From our door to yours.", "published": "2026-03-01T10:00:00Z"})
	})
	t.Run("reads all of the page", func(t *testing.T) {
		t.Parallel()
		u := page("/help/article")
		u.config["content"] = "full"
		text := flow.Text(u.succeeds(t, s.deps)["text"])
		has(t, text, "[Shop everything now]("+s.URL+"/shop)", "# How parcels travel", "Imprint")
		if strings.Contains(text, "track()") {
			t.Errorf("a script is in the text: %s", text)
		}
	})
	for path, want := range map[string][2]string{
		"/sniffed": {"How parcels travel", "A parcel that leaves our door"},
		"/latin":   {"Zürich", "Grüße aus Zürich"},
		"/meta":    {"x", "Привет"},
		"/base":    {"", "[go](" + s.URL + "/other/x)"},
		"/plain":   {"", "# As *it* is\n"},
	} {
		t.Run("reads "+path, func(t *testing.T) {
			t.Parallel()
			outputs := page(path).succeeds(t, s.deps)
			has(t, flow.Text(outputs["title"]), want[0])
			has(t, flow.Text(outputs["text"]), want[1])
			if strings.Contains(flow.Text(outputs["text"]), "javascript:") {
				t.Errorf("a script is in the text: %v", outputs["text"])
			}
		})
	}
	t.Run("guesses an encoding that nothing states", func(t *testing.T) {
		t.Parallel()
		outputs := page("/guess").succeeds(t, s.deps)
		same(t, "page", []any{outputs["text"], outputs["encoding"]}, []any{"本合同自签字之日起生效，双方应付款。", "gb18030"})
		has(t, flow.Text(outputs["warnings"]), "gb18030, which is a guess")
		u := page("/guess")
		u.config["encoding"] = "Windows-1251"
		outputs = u.succeeds(t, s.deps)
		same(t, "page", []any{outputs["encoding"], outputs["warnings"]}, []any{"windows-1251", []any{}})
	})
	t.Run("fails without content", func(t *testing.T) {
		t.Parallel()
		has(t, page("/none").fails(t, s.deps, flow.CodeHTTPFailed).Message, "204 No Content")
		for _, kind := range []string{"file", "document"} {
			field := map[string]string{"file": "url", "document": "file"}[kind]
			has(t, use{kind: kind, config: map[string]any{field: s.URL + "/none"}}.fails(t, s.deps, flow.CodeHTTPFailed).Message, "204 No Content")
		}
		has(t, use{kind: "document", config: map[string]any{"file": s.URL + "/empty"}}.fails(t, s.deps, flow.CodeInputInvalid).Message, "sent no content")
	})
	for path, want := range map[string]string{"/empty": "sent no content", "/terms.pdf": "document node", "/picture": "not to a web page"} {
		t.Run("refuses "+path, func(t *testing.T) {
			t.Parallel()
			has(t, page(path).fails(t, s.deps, flow.CodeInputInvalid).Message, want)
		})
	}
	t.Run("fails as the server does", func(t *testing.T) {
		t.Parallel()
		failure := page("/error").fails(t, s.deps, flow.CodeHTTPFailed)
		if has(t, failure.Message, "503", "Try later"); !failure.Retryable {
			t.Error("cannot be tried again")
		}
		has(t, page("/huge").fails(t, s.deps, flow.CodeHTTPFailed).Message, "10 MiB")
		use{kind: "web_page", config: map[string]any{"url": "http://10.1.2.3/"}}.fails(t, s.deps, flow.CodeDestinationBlocked)
		use{kind: "web_page", ports: map[string]any{"url": "nowhere"}}.fails(t, s.deps, flow.CodeInputInvalid)
	})
	t.Run("rejects invalid config", func(t *testing.T) {
		t.Parallel()
		if problems := (use{kind: "web_page", config: map[string]any{"url": "https://example.com", "encoding": "klingon"}}).problems(t); len(problems) != 1 || problems[0].Pointer != "/nodes/0/config/encoding" {
			t.Errorf("got %v", problems)
		}
		if problems := (use{kind: "web_page", config: map[string]any{"url": "example.com"}}).problems(t); len(problems) != 1 || problems[0].Pointer != "/nodes/0/config/url" {
			t.Errorf("got %v", problems)
		}
	})
}
