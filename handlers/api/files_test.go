package api

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/filelinks"
)

// The smallest contents that are recognized.
var (
	pngBytes  = append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), make([]byte, 1000)...)
	htmlBytes = []byte("<!DOCTYPE html><script>alert(1)</script>")
)

// formPart is one part of a form; without a file name it is a text.
type formPart struct {
	name, file, mediaType string
	data                  []byte
}

// form returns the parts as multipart/form-data, with its Content-Type.
func form(parts ...formPart) (body, contentType string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		h := textproto.MIMEHeader{}
		h.Set("Content-Disposition", fmt.Sprintf("form-data; name=%q", p.name))
		if p.file != "" {
			h.Set("Content-Disposition", fmt.Sprintf("form-data; name=%q; filename=%q", p.name, p.file))
		}
		if p.mediaType != "" {
			h.Set("Content-Type", p.mediaType)
		}
		to, _ := w.CreatePart(h)
		_, _ = to.Write(p.data)
	}
	_ = w.Close()
	return b.String(), w.FormDataContentType()
}

// upload sends one file.
func (w *env) upload(key, name, mediaType string, data []byte) *reply {
	w.t.Helper()
	body, contentType := form(formPart{"file", name, mediaType, data})
	return w.send(request{method: "POST", path: "/v1/files", key: key, body: body, headers: []string{"Content-Type", contentType}})
}

// uploaded uploads a file with the key of the test and returns its ID.
func (w *env) uploaded(name, mediaType string, data []byte) string {
	w.t.Helper()
	a := w.upload("", name, mediaType, data)
	a.want(w.t, 201)
	return a.field("file").(string)
}

// local is a link as the test's server serves it.
func local(t *testing.T, link any) string {
	t.Helper()
	s, _ := link.(string)
	path, ok := strings.CutPrefix(s, publicURL)
	if !ok {
		t.Fatalf("%v is no link", link)
	}
	return path
}

func TestUpload(t *testing.T) {
	t.Parallel()
	w := setup(t)
	a := w.upload("", "cat.png", "image/png", pngBytes)
	a.want(t, 201)
	id := a.field("file").(string)
	a.wantFields(t, map[string]any{"name": "cat.png", "mime": "image/png", "size": len(pngBytes)})
	if at := a.header.Get("Location"); at != "/v1/files/"+id {
		t.Errorf("Location is %s", at)
	}
	if got := w.get("/v1/files/" + id); got.status != 200 || !bytes.Equal(got.raw, pngBytes) {
		t.Errorf("the key gets %d, %d bytes", got.status, len(got.raw))
	}
	got := w.send(request{method: "GET", path: local(t, a.field("url")), key: "-"})
	if got.status != 200 || !bytes.Equal(got.raw, pngBytes) {
		t.Errorf("the link gives %d, %d bytes", got.status, len(got.raw))
	}
	w.post("/v1/files", "").want(t, 415)
}

func TestUploadRefusals(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *Config) { c.MaxFile = 1000 })
	file := formPart{"file", "a.txt", "text/plain", []byte("hello")}
	good, goodType := form(file)
	tests := map[string]struct {
		body, contentType string
		headers           []string
		status            int
		problems          string
	}{
		"JSON":                  {`{"file": "a"}`, "application/json", nil, 415, ""},
		"the bare bytes":        {"hello", "text/plain", nil, 415, ""},
		"another kind of form":  {"file=a", "application/x-www-form-urlencoded", nil, 415, ""},
		"multipart/mixed":       {good, strings.Replace(goodType, "form-data", "mixed", 1), nil, 415, ""},
		"no boundary":           {good, "multipart/form-data", nil, 415, ""},
		"a broken type":         {good, "multipart/form-data; boundary", nil, 415, ""},
		"compression":           {good, goodType, []string{"Content-Encoding", "gzip"}, 415, ""},
		"no part":               {"--x--\r\n", "multipart/form-data; boundary=x", nil, 422, "/file required"},
		"no form at all":        {"hello", "multipart/form-data; boundary=x", nil, 422, "/file required"},
		"cut in the header":     {good[:20], goodType, nil, 422, "/file required"},
		"cut in the content":    {good[:strings.Index(good, "hello")+3], goodType, nil, 422, "/file incomplete"},
		"another part":          formCase(422, "/photo unknown", formPart{"photo", "a.png", "", pngBytes[:9]}),
		"a part without a name": formCase(422, "/ unknown", formPart{"", "a.png", "", pngBytes[:9]}),
		"a text":                formCase(422, "/file wrong_type", formPart{"file", "", "", []byte("cat.png")}),
		"a text before it":      formCase(422, "/purpose unknown", formPart{"purpose", "", "", []byte("x")}, file),
		"a text after it":       formCase(422, "/purpose unknown", file, formPart{"purpose", "", "", []byte("x")}),
		"Base64":                {strings.Replace(good, "\r\n\r\n", "\r\nContent-Transfer-Encoding: base64\r\n\r\n", 1), goodType, nil, 415, ""},
		"two files":             formCase(422, "/file duplicate", file, file),
		"too large":             formCase(413, "", formPart{"file", "a", "", make([]byte, 1001)}),
		"much too large":        formCase(413, "", formPart{"file", "a", "", make([]byte, 200_000)}),
	}
	for name, test := range tests {
		a := w.send(request{method: "POST", path: "/v1/files", body: test.body, headers: append([]string{"Content-Type", test.contentType}, test.headers...)})
		code := map[int]flow.Code{413: flow.CodeBodyTooLarge, 415: flow.CodeUnsupportedMediaType, 422: flow.CodeInputInvalid}[test.status]
		if a.status != test.status || a.body["code"] != string(code) || a.pointers() != test.problems {
			t.Errorf("%s: %d %s %s", name, a.status, a.pointers(), a.raw)
		}
		if test.status == 413 && !strings.Contains(a.field("detail").(string), "1000 bytes") {
			t.Errorf("%s: the limit is not told: %s", name, a.raw)
		}
	}
	if n := w.files.count(); n != 0 {
		t.Errorf("%d refused files were kept", n)
	}
	w.upload("", "a", "", make([]byte, 1000)).want(t, 201)
	w.runner.draining.Store(true)
	w.upload("", "a", "", []byte("x")).wantCode(t, 503, flow.CodeDraining)
}

// formCase is a well-formed form that is rejected.
func formCase(status int, problems string, parts ...formPart) (c struct {
	body, contentType string
	headers           []string
	status            int
	problems          string
}) {
	c.body, c.contentType = form(parts...)
	c.status, c.problems = status, problems
	return c
}

func TestDownloadHeaders(t *testing.T) {
	t.Parallel()
	w := setup(t)
	tests := map[string]struct {
		name, mediaType string
		data            []byte
		wantType        string
		disposition     string
	}{
		"a picture":                      {"Kätzchen 1.png", "image/png", pngBytes, "image/png", `inline; filename="K_tzchen 1.png"; filename*=UTF-8''K%C3%A4tzchen%201.png`},
		"a sound":                        {"a.mp3", "audio/mpeg", []byte("ID3\x03"), "audio/mpeg", `inline; filename="a.mp3"; filename*=UTF-8''a.mp3`},
		"a text":                         {"a.txt", "text/plain", []byte("x"), "text/plain", `attachment; filename="a.txt"; filename*=UTF-8''a.txt`},
		"a page":                         {"a.html", "text/html", htmlBytes, "text/html", `attachment; filename="a.html"; filename*=UTF-8''a.html`},
		"a page that claims a picture":   {"a.png", "image/png", htmlBytes, "text/html", `attachment; filename="a.png"; filename*=UTF-8''a.png`},
		"a picture with scripts":         {"a.svg", "image/svg+xml", []byte("<svg/>"), "image/svg+xml", `attachment; filename="a.svg"; filename*=UTF-8''a.svg`},
		"a name that would end a header": {`a";b.bin`, "application/zip", []byte("x"), "application/zip", `attachment; filename="a_;b.bin"; filename*=UTF-8''a%22%3Bb.bin`},
		"an invalid type":                {"a", "??", []byte("x"), "application/octet-stream", `attachment; filename="a"; filename*=UTF-8''a`},
		"a type with parameters":         {"a", "text/csv; charset=utf-8", []byte("x"), "text/csv; charset=utf-8", `attachment; filename="a"; filename*=UTF-8''a`},
		"a type with a header injection": {"a", "text/csv\r\nX-A: b", []byte("x"), "application/octet-stream", `attachment; filename="a"; filename*=UTF-8''a`},
	}
	for name, test := range tests {
		f := w.files.put(flow.NewFile{WorkspaceID: "default", Name: test.name, MIME: test.mediaType}, test.data)
		byLink := local(t, w.server.Links.URL("default", f.ID, time.Now().Add(time.Hour)))
		for path, key := range map[string]string{"/v1/files/" + f.ID: w.key, byLink: "-"} {
			a := w.send(request{method: "GET", path: path, key: key})
			a.want(t, 200)
			for header, want := range map[string]string{
				"Content-Type": test.wantType, "Content-Disposition": test.disposition, "X-Content-Type-Options": "nosniff",
				"Content-Security-Policy": "sandbox; default-src 'none'", "ETag": `"` + f.Hash + `"`, "Accept-Ranges": "bytes",
			} {
				if got := a.header.Get(header); got != want {
					t.Errorf("%s: %s is %q, wanted %q", name, header, got, want)
				}
			}
		}
	}
}

func TestDownload_is_cacheable(t *testing.T) {
	t.Parallel()
	w := setup(t)
	now := time.Now()
	w.now = func() time.Time { return now }
	id := w.uploaded("a.png", "image/png", pngBytes)
	for _, test := range []struct {
		left            time.Duration
		cache, resource string
	}{{0, "private, no-cache", "same-origin"}, {10 * time.Second, "private, max-age=", "cross-origin"}, {48 * time.Hour, "private, max-age=3600", "cross-origin"}} {
		r := request{method: "GET", path: "/v1/files/" + id}
		if test.left > 0 {
			r = request{method: "GET", path: local(t, w.server.Links.URL("default", id, now.Add(test.left))), key: "-"}
		}
		h := w.send(r).header
		if !strings.HasPrefix(h.Get("Cache-Control"), test.cache) || h.Get("Cross-Origin-Resource-Policy") != test.resource {
			t.Errorf("%s left: Cache-Control %q, Cross-Origin-Resource-Policy %q", test.left, h.Get("Cache-Control"), h.Get("Cross-Origin-Resource-Policy"))
		}
		if test.left == 10*time.Second && h.Get("Cache-Control") != "private, max-age=9" && h.Get("Cache-Control") != "private, max-age=10" {
			t.Errorf("a copy may outlive the link: %s", h.Get("Cache-Control"))
		}
	}
}

func TestDownload_of_ranges(t *testing.T) {
	t.Parallel()
	w := setup(t)
	data := []byte("0123456789")
	id := w.uploaded("a.txt", "text/plain", data)
	tag := w.get("/v1/files/" + id).header.Get("ETag")
	tests := map[string]struct {
		headers []string
		status  int
		body    string
		ranged  string
	}{
		"the first bytes":               {[]string{"Range", "bytes=0-2"}, 206, "012", "bytes 0-2/10"},
		"the last bytes":                {[]string{"Range", "bytes=-3"}, 206, "789", "bytes 7-9/10"},
		"from somewhere on":             {[]string{"Range", "bytes=8-"}, 206, "89", "bytes 8-9/10"},
		"more than there is":            {[]string{"Range", "bytes=8-99"}, 206, "89", "bytes 8-9/10"},
		"beyond the end":                {[]string{"Range", "bytes=10-"}, 416, "", "bytes */10"},
		"nonsense":                      {[]string{"Range", "bytes=a"}, 416, "", ""},
		"another unit":                  {[]string{"Range", "lines=1-2"}, 416, "", ""},
		"if it is the same":             {[]string{"Range", "bytes=0-0", "If-Range", tag}, 206, "0", "bytes 0-0/10"},
		"if it is another":              {[]string{"Range", "bytes=0-0", "If-Range", `"x"`}, 200, "0123456789", ""},
		"known":                         {[]string{"If-None-Match", tag}, 304, "", ""},
		"not known":                     {[]string{"If-None-Match", `"x"`}, 200, "0123456789", ""},
		"only if it were another":       {[]string{"If-Match", `"x"`}, 412, "", ""},
		"only if it were older":         {[]string{"If-Unmodified-Since", "Mon, 01 Jan 2001 00:00:00 GMT"}, 412, "", ""},
		"if it has changed since later": {[]string{"If-Modified-Since", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)}, 304, "", ""},
	}
	for name, test := range tests {
		a := w.get("/v1/files/"+id, test.headers...)
		if a.status != test.status || a.header.Get("Content-Range") != test.ranged {
			t.Errorf("%s: %d, Content-Range %q", name, a.status, a.header.Get("Content-Range"))
		}
		if a.status < 400 && string(a.raw) != test.body {
			t.Errorf("%s: got %q", name, a.raw)
		}
		if want := map[int]flow.Code{412: flow.CodePreconditionFailed, 416: flow.CodeRangeNotSatisfiable}[a.status]; a.status >= 400 && (a.body["code"] != string(want) || a.header.Get("Content-Disposition") != "") {
			t.Errorf("%s: %s with %v", name, a.raw, a.header)
		}
		head := w.send(request{method: "HEAD", path: "/v1/files/" + id, headers: test.headers})
		if head.status != test.status || len(head.raw) != 0 {
			t.Errorf("%s: HEAD gives %d and %d bytes", name, head.status, len(head.raw))
		}
	}
	several := w.get("/v1/files/"+id, "Range", "bytes=0-1,5-6")
	if several.status != 206 || !strings.Contains(several.header.Get("Content-Type"), "multipart/byteranges") || !bytes.Contains(several.raw, []byte("56")) {
		t.Errorf("two parts: %d %s %s", several.status, several.header.Get("Content-Type"), several.raw)
	}
	if h := w.send(request{method: "HEAD", path: "/v1/files/" + id}).header; h.Get("Content-Length") != "10" || h.Get("ETag") != tag {
		t.Errorf("HEAD says %v", h)
	}
}

// TestFileLinks checks that a link opens only its file until it expires, and that all
// invalid links get the same response.
func TestFileLinks(t *testing.T) {
	t.Parallel()
	m := setupMatrix(t)
	id := m.uploaded("a.txt", "text/plain", []byte("hello"))
	foreign := m.files.put(flow.NewFile{WorkspaceID: "ws_other", Name: "b"}, []byte("theirs"))
	links, soon := m.server.Links, time.Now().Add(time.Hour)
	good := local(t, links.URL("default", id, soon))
	expired := local(t, links.URL("default", id, time.Now().Add(-time.Second)))
	q, _ := url.ParseQuery(good[strings.IndexByte(good, '?')+1:])
	shapes := map[string]string{}
	for name, path := range map[string]string{
		"expired":                    expired,
		"expired, changed":           strings.Replace(expired, "expires=", "expires=9", 1),
		"no signature":               "/v1/files/" + id + "?expires=" + q.Get("expires") + "&signature=",
		"no time":                    "/v1/files/" + id + "?signature=" + q.Get("signature"),
		"a longer signature":         good + "0",
		"another signature":          good[:len(good)-64] + strings.Repeat("0", 64),
		"of another file":            strings.Replace(good, id, foreign.ID, 1),
		"of a file of theirs":        local(t, links.URL("default", foreign.ID, soon)),
		"of no file":                 local(t, links.URL("default", m.ids.New(flow.PrefixFile), soon)),
		"of no ID":                   local(t, links.URL("default", "x", soon)),
		"signed with another secret": local(t, (&filelinks.Signer{Base: publicURL, Key: []byte("x")}).URL("default", id, soon)),
		"signed with no secret":      local(t, (&filelinks.Signer{Base: publicURL}).URL("default", id, soon)),
	} {
		for _, method := range []string{"GET", "HEAD"} {
			a := m.send(request{method: method, path: path, key: "-"})
			if a.status != 404 {
				t.Errorf("%s: %s gives %d %s", name, method, a.status, a.raw)
			}
			shapes[method+m.shape(a)] = name
		}
	}
	if len(shapes) != 2 {
		t.Errorf("%d different answers: %v", len(shapes), shapes)
	}
	if a := m.send(request{method: "GET", path: expired, key: "-"}); !strings.Contains(string(a.raw), "expired") {
		t.Errorf("who has an old link is not told: %s", a.raw)
	}
	m.send(request{method: "GET", path: good, key: "-"}).want(t, 200)
	m.send(request{method: "GET", path: good, key: "-", headers: []string{"Authorization", "Basic eDp5"}}).want(t, 200)
	m.send(request{method: "GET", path: expired}).want(t, 200) // by its key
	m.send(request{method: "GET", path: local(t, links.URL("ws_other", foreign.ID, soon)), key: "-"}).want(t, 200)
	m.send(request{method: "GET", path: good + "&key=x", key: "-"}).wantCode(t, 400, flow.CodeKeyInURL)
	m.send(request{method: "DELETE", path: good, key: "-"}).wantCode(t, 401, flow.CodeKeyMissing)
	m.send(request{method: "DELETE", path: "/v1/files/" + id}).want(t, 204)
	m.send(request{method: "GET", path: good, key: "-"}).wantCode(t, 404, flow.CodeNotFound)
}

func TestFiles_check_access(t *testing.T) {
	t.Parallel()
	w := setup(t)
	run, read, manage := []flow.Scope{flow.ScopeRun}, []flow.Scope{flow.ScopeRead}, []flow.Scope{flow.ScopeManage}
	uploader := w.addKey(flow.Key{Scopes: run})
	a := w.upload(uploader, "a.png", "image/png", pngBytes)
	a.want(t, 201)
	path, id := a.header.Get("Location"), a.field("file").(string)
	starter := w.addKey(flow.Key{Scopes: append(run, read...)})
	filing := w.addFlow("default", filingDocument)
	w.send(request{method: "POST", path: "/v1/flow/" + filing + "/run", key: starter, body: `{"photo": {"file": "` + id + `"}}`}).want(t, 202)
	for name, test := range map[string]struct {
		key         string
		get, delete int
	}{
		"the one that uploaded it":            {uploader, 200, 0},
		"another that runs":                   {w.addKey(flow.Key{Scopes: run}), 404, 404},
		"one that reads":                      {w.addKey(flow.Key{Scopes: read}), 200, 403},
		"one that reads and runs":             {w.addKey(flow.Key{Scopes: append(run, read...)}), 200, 403},
		"one that reads a flow that has it":   {w.addKey(flow.Key{Scopes: read, Flows: []string{filing}}), 200, 403},
		"one that reads another flow":         {w.addKey(flow.Key{Scopes: append(run, read...), Flows: []string{w.echo}}), 404, 404},
		"one that manages another flow":       {w.addKey(flow.Key{Scopes: manage, Flows: []string{w.echo}}), 403, 404},
		"one that manages":                    {w.addKey(flow.Key{Scopes: manage}), 403, 0},
		"one that manages all elsewhere":      {w.addKey(flow.Key{Scopes: append(manage, read...), WorkspaceID: "ws_other"}), 404, 404},
		"the command line on this machine":    {"local-token-of-the-test", 200, 0},
		"one whose run it is":                 {starter, 200, 403},
		"one that manages a flow that has it": {w.addKey(flow.Key{Scopes: manage, Flows: []string{filing}}), 403, 0},
	} {
		if a := w.send(request{method: "GET", path: path, key: test.key}); a.status != test.get {
			t.Errorf("GET by %s: %d, wanted %d", name, a.status, test.get)
		}
		if test.delete == 0 {
			continue // it may, which would take the file from the others
		}
		if a := w.send(request{method: "DELETE", path: path, key: test.key}); a.status != test.delete {
			t.Errorf("DELETE by %s: %d, wanted %d", name, a.status, test.delete)
		}
	}
	for _, key := range []string{w.addKey(flow.Key{Scopes: manage}), "local-token-of-the-test", uploader} {
		path := w.upload(uploader, "b", "", []byte("b")).header.Get("Location")
		w.send(request{method: "DELETE", path: path, key: key}).want(t, 204)
		w.send(request{method: "DELETE", path: path, key: key}).wantCode(t, 404, flow.CodeNotFound)
		w.send(request{method: "GET", path: path, key: uploader}).wantCode(t, 404, flow.CodeNotFound)
	}
}
