package handlers_test

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/e2e/need"
	"sluice/flow"
	"sluice/handlers"
	"sluice/handlers/web"
	"sluice/handlers/webtest"
)

// Flags of TestPagesAnswerAnyRequest, for a long search.
var (
	pageRequests = flag.Int("page-requests", 6, "requests that TestPagesAnswerAnyRequest sends to each route")
	pageSeed     = flag.Uint64("page-seed", 20261122, "seed of TestPagesAnswerAnyRequest")
)

// brokenForms are bodies that no browser sends, each with its content type.
var brokenForms = [][2]string{
	{"multipart/form-data", "--b\r\n\r\nx"},
	{"multipart/form-data; boundary=", "x"},
	{"multipart/form-data; boundary=b", ""},
	{"multipart/form-data; boundary=b", "--b"},
	{"multipart/form-data; boundary=b", "--b--"},
	{"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"name\"\r\n"},
	{"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nabc"},
	{"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nabc"},
	{"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"\x00/../a\"\r\nContent-Type: ;;\r\n\r\nabc\r\n--b--\r\n"},
	{"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: nonsense; =\r\n\r\nabc\r\n--b--\r\n"},
	{"multipart/form-data; boundary=b", "--b\r\nno header at all\r\n\r\nabc\r\n--b--\r\n"},
	{"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"name\"\r\n" + strings.Repeat("X: y\r\n", 12_000) + "\r\nabc\r\n--b--\r\n"},
	{"multipart/form-data; boundary=b", strings.Repeat("--b\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\na\r\n", web.MaxParts+1) + "--b--\r\n"},
	{"multipart/form-data; boundary=b", "--b\r\nContent-Transfer-Encoding: quoted-printable\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\n=ZZ=\r\n--b--\r\n"},
	{"multipart/form-data; boundary=\"\xff\"", "--\xff\r\n\r\n"},
	{"multipart/mixed; boundary=b", "--b\r\n\r\nx\r\n--b--\r\n"},
	{"application/x-www-form-urlencoded", "name=%zz"},
	{"application/x-www-form-urlencoded", "name=%00&name=%ff"},
	{"application/x-www-form-urlencoded; charset=utf-16", "\xfe\xff\x00n\x00=\x00a"},
	{"application/x-www-form-urlencoded", strings.Repeat("&", 20_000)},
	{"application/x-www-form-urlencoded", "a;b=c;=&=&&;"},
	{"application/json", "{"},
	{"application/json", `{"ops":[{"op":"add","node":null}],"tx":"\ud800","base":-1}`},
	{"application/json", strings.Repeat("[", 20_000)},
	{"text/plain", "name=a"},
	{";", "\x00"},
	{"", "x"},
}

// oddTexts are values that a person hardly types.
var oddTexts = []string{
	"", " ", "a", "\x00", "\xff", "\xed\xa0\x80", "\u202e", "ünïcödé", "'; DROP TABLE runs; --", "../../etc/passwd", "%00", "{{who}}", "<script>alert(1)</script>", "null", "true", "-1", "0", "1", "2",
	"1e999", "NaN", "9223372036854775808", "99999999999999999999999", "2026-13-01T00:00:00Z", "2026-01-31", "draft", "on", "slu_", "run_", "flow_", "🦆", "\\", "\"", "\n\r\n", "[]", "{}", `{"a":1}`, `[1,`,
	"in", "out", "who", "words", "out.value", "in.value", "owner", "all", "https://example.com/", "http://[::1", "//evil.example", "/flows", "api.example.com:99999", "a@b.example", "openai", "plain",
	"acme/none", "acme/picture", "template", "default", "day", "month", "30d", "asc", "csv", "failed", strings.Repeat("a", 300), strings.Repeat("ä", 50_000),
}

// fieldNames are the names of form and query values that the handlers read.
func fieldNames(t *testing.T) (names []string) {
	t.Helper()
	reads := regexp.MustCompile(`(?:FormValue|QueryParam|Trimmed|\.Get|\.Has)\("([a-z_]+)"|\w\["([a-z_]+)"\]`)
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range reads.FindAllStringSubmatch(string(source), -1) {
			names = append(names, m[1]+m[2])
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) < 50 {
		t.Fatalf("only %d names of values were found: %v", len(names), names)
	}
	return append(names, "", "in.who", "in.word", "config.template", "\x00")
}

// wireFuzzer makes requests to routes of the table that are nearly right.
type wireFuzzer struct {
	*rand.Rand
	h       *webtest.Env
	names   []string            // of form and query values
	params  map[string][]string // values of path parameters by name; the first one exists
	session string              // Cookie header of an owner
}

func pick[T any](f *wireFuzzer, list ...T) T { return list[f.IntN(len(list))] }

// usually returns the good value three times out of four.
func usually[T any](f *wireFuzzer, good T, bad ...T) T {
	if f.IntN(4) > 0 {
		return good
	}
	return pick(f, bad...)
}

// signIn makes a new owner. Their session is begun from an address of its own,
// so that the limit for failed sign-ins does not apply.
func (f *wireFuzzer) signIn() {
	form := url.Values{"email": {f.h.Person(flow.MemberOwner)}, "password": {webtest.Password}}
	r := httptest.NewRequest(http.MethodPost, "/sign-in", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.RemoteAddr = "192.0.2.1:1"
	rec := httptest.NewRecorder()
	f.h.Server.ServeHTTP(rec, r)
	f.session = ""
	for _, c := range rec.Result().Cookies() {
		f.session += c.Name + "=" + c.Value + "; "
	}
	if rec.Code != http.StatusSeeOther || !strings.Contains(f.session, "session=") {
		f.h.T.Fatalf("sign-in answers %d %s", rec.Code, rec.Body)
	}
}

// renew gives what the requests name: a published flow with a form, runs, a
// delivery, a key, a credential and a file.
func (f *wireFuzzer) renew(hook string) {
	f.h.T.Helper()
	f.signIn()
	id := f.h.FormOf(webtest.Greeting)
	f.h.Replace(flow.FlowID(id), webtest.PublishGreeting) // the draft differs from the live version
	told := f.h.Flow(webtest.WebhookFlow(hook))
	run := f.h.RunEcho(flow.DefaultWorkspace, told, "Hello")
	delivery := f.h.DeliveryIs(told, "delivered")
	k := f.h.KeyOf(f.h.Add("maker-"+strings.ToLower(run[len(run)-12:])+"@example.com", flow.DefaultWorkspace, flow.MemberEditor), "key "+run)
	credential := flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "token_" + run[len(run)-8:], Hosts: []string{"api.example.com"}}
	if err := f.h.Store.SaveCredential(f.h.T.Context(), credential, "a secret of the test"); err != nil {
		f.h.T.Fatal(err)
	}
	f.params = map[string][]string{
		"flow": {id, told, f.h.FlowElsewhere(), run, "flow_x"}, "run": {run, id, "run_x"}, "node": {"who", "words", "say", "out", "none"}, "n": {"1", "2", "0", "-1", "x", "99999999999999999999"},
		"key": {k.ID, "key_x", id}, "name": {credential.Name, "none", "a.b"}, "delivery": {delivery, "whd_x", run}, "owner": {"acme", "openai", "x"}, "model": {"picture", "none", "locked"},
	}
}

// path fills in the parameters of a route. Every so often one of them is not
// text, or the path has one part too many.
func (f *wireFuzzer) path(r *web.Route) string {
	path := regexp.MustCompile(`[:*][a-z_]*`).ReplaceAllStringFunc(r.Path, func(param string) string {
		known := append(f.params[param[1:]], "none_01")
		return usually(f, known[0], append(known, "%00", "%ff", "%20", "%2f", "..", "%zz", strings.Repeat("a", 3000), "\xff", "")...)
	})
	if f.IntN(20) == 0 {
		path += pick(f, "/", "/x", "%2f", ";a=b", "//", "%00")
	}
	if f.IntN(2) == 0 {
		return path
	}
	return path + "?" + usually(f, f.values().Encode(), "%zz", "a=%", ";", "&&&=", "to=%00", "\xff", strings.Repeat("q=a&", 2000))
}

func (f *wireFuzzer) values() url.Values {
	v := url.Values{}
	for range 1 + f.IntN(6) {
		name, text := pick(f, f.names...), pick(f, oddTexts...)
		if known := f.params[name]; len(known) > 0 && f.IntN(2) == 0 {
			text = pick(f, known...)
		}
		v.Add(name, text)
	}
	return v
}

// body returns the body of a request and its content type.
func (f *wireFuzzer) body() (contentType, body string) {
	switch f.IntN(5) {
	case 0, 1:
		form := pick(f, brokenForms...)
		return form[0], form[1]
	case 2:
		var b strings.Builder
		for name, values := range f.values() {
			fmt.Fprintf(&b, "--b\r\nContent-Disposition: form-data; name=%q%s\r\n\r\n%s\r\n", name, pick(f, "", "", `; filename="a.png"`, `; filename=""`), values[0])
		}
		return "multipart/form-data; boundary=b", b.String() + "--b--\r\n"
	case 3:
		var b strings.Builder
		for name, values := range f.values() {
			fmt.Fprintf(&b, ",%q:%s", name, pick(f, fmt.Sprintf("%q", values[0]), "null", "[]", "{}", "1e400", "-1", `[{"op":"set","node":"who","field":"name","value":"a"}]`))
		}
		return "application/json", "{" + strings.TrimPrefix(b.String(), ",") + "}"
	}
	body = f.values().Encode()
	if f.IntN(8) == 0 {
		body += "&name=" + strings.Repeat("x", web.MaxForm)
	}
	return "application/x-www-form-urlencoded", body
}

// request writes one request to a route and says what happens to the connection
// after it. An answer is due to a request that was sent as a whole.
func (f *wireFuzzer) request(r *web.Route, signedIn bool) (raw []byte, end string, due bool) {
	contentType, body := f.body()
	method := usually(f, r.Method, r.Method, r.Method, "GET", "POST", "HEAD", "PUT", "OPTIONS", "X")
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, f.path(r), usually(f, f.h.Http.Listener.Addr().String(), "evil.example", "sluice.test"))
	header := func(name, value string) { fmt.Fprintf(&b, "%s: %s\r\n", name, value) }
	header("Sec-Fetch-Site", usually(f, "same-origin", "same-origin", "cross-site", ""))
	header("Content-Type", contentType)
	cookies := []string{"sluice_session=\xff", "sluice_session=; sluice_session=", strings.Repeat("a=b; ", 500), "=", "theme=\x80; snippet=%zz; pane=\"", "sluice_session=" + strings.Repeat("x", 5000)}
	switch {
	case signedIn && f.IntN(10) == 0:
		header("Cookie", f.session+pick(f, cookies...))
	case signedIn:
		header("Cookie", f.session)
	case f.IntN(2) == 0:
		header("Cookie", pick(f, cookies...))
	}
	if f.IntN(2) == 0 {
		header("HX-Request", "true")
		header("HX-Request-Type", pick(f, "partial", "full", "\xff"))
	}
	for range f.IntN(3) {
		header(pick(f, "Accept", "Accept-Encoding", "Content-Encoding", "Last-Event-ID", "If-None-Match", "Range", "X-Request-Id", "X-Forwarded-For", "Origin", "Referer", "Authorization", "HX-Target", "HX-Current-URL"),
			strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(pick(f, append(oddTexts[:40:40], "gzip", "br;q=0", "bytes=9-,-3", "*", "null", f.h.Http.URL)...)))
	}
	switch f.IntN(8) {
	case 0:
		last := pick(f, "0\r\n\r\n", "zz\r\n", "")
		fmt.Fprintf(&b, "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n%s", len(body), body, last)
		return b.Bytes(), "finish", len(body) == 0 || last == "0\r\n\r\n"
	case 1:
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body)+1+f.IntN(1000), body)
		return b.Bytes(), pick(f, "finish", "close", "reset"), false
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	end = pick(f, "read", "read", "finish", "finish", "finish", "close", "reset")
	return b.Bytes(), end, end == "read" || end == "finish"
}

// exchange sends a request on a connection of its own. It returns no status if
// there was no answer, and the beginning of the answer's body.
func (f *wireFuzzer) exchange(raw []byte, end string) (status int, text string, err error) {
	c, err := net.Dial("tcp", f.h.Http.Listener.Addr().String())
	if err != nil {
		f.h.T.Fatal(err)
	}
	defer c.Close()
	tcp := c.(*net.TCPConn)
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	_, _ = c.Write(raw) // the server may refuse it before its end
	switch end {
	case "reset":
		return 0, "", tcp.SetLinger(0)
	case "close":
		return 0, "", nil
	case "finish":
		_ = tcp.CloseWrite()
	}
	method, _, _ := strings.Cut(string(raw), " ")
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return resp.StatusCode, "", nil // it does not end
	}
	start, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	}
	return resp.StatusCode, string(start), err
}

// isHTTP reports whether a request follows HTTP. net/http answers any other
// and closes the connection without reading on, so the answer may be lost.
func isHTTP(raw []byte) bool {
	_, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
	return err == nil
}

// TestPagesAnswerAnyRequest sends each route of the table requests that are
// nearly right, on real connections: broken forms, values that are not text,
// clients that finish sending or go away. No answer is a 5xx other than 503,
// nothing is logged as an error or warning, and a client that stays gets its
// whole answer.
func TestPagesAnswerAnyRequest(t *testing.T) {
	t.Parallel()
	need.Time(t)
	h := webtest.Setup(t, func(c *handlers.Config) { c.SignUp = true })
	h.Http.Config.ErrorLog = log.New(h.Log, "", 0)
	f := &wireFuzzer{Rand: rand.New(rand.NewPCG(*pageSeed, 1)), h: h, names: fieldNames(t)}
	hook := webtest.NewHook(t, http.StatusNoContent)
	go func() { // it keeps received data until it is read
		for range hook.Got {
			<-hook.Bodies
		}
	}()
	routes := h.Server.Site.Routes()
	byStatus := map[int]int{}
	for i := range *pageRequests * len(routes) * 2 {
		if i%100 == 0 { // some of the requests remove them
			f.renew(hook.URL)
		}
		r, signedIn := &routes[i/2%len(routes)], i%2 == 0
		raw, end, due := f.request(r, signedIn)
		status, text, err := f.exchange(raw, end)
		byStatus[status]++
		switch {
		case status >= 500 && status != http.StatusServiceUnavailable && !strings.Contains(text, "Unsupported transfer encoding"):
			t.Fatalf("request %d to %s %s answers %d %s\n%.3000q\n%.5000s", i, r.Method, r.Path, status, text, raw, h.Log)
		case due && err != nil && isHTTP(raw):
			t.Fatalf("request %d to %s %s, %s, has no whole answer: %v\n%.3000q\n%.5000s", i, r.Method, r.Path, end, err, raw, h.Log)
		}
		if signedIn && status == http.StatusUnauthorized {
			f.signIn() // a request ended the session
		}
	}
	h.Server.Drain()
	h.Http.Close() // waits for the requests whose clients went away
	close(hook.Got)
	if regexp.MustCompile(`level=(ERROR|WARN)|superfluous|panic`).MatchString(h.Log.String()) {
		t.Errorf("the log holds errors or warnings:\n%.5000s", h.Log)
	}
	t.Log("statuses", byStatus)
	for _, status := range []int{200, 303, 400, 401, 403, 404, 422} {
		if byStatus[status] == 0 {
			t.Errorf("the requests are not varied, none answers %d: %v", status, byStatus)
		}
	}
}
