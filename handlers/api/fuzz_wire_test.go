package api

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/e2e/need"
	"sluice/flow"
)

// wireRequests is how many requests TestMalformedConnections_never_cause_5xx sends; set it to
// 100,000 or more for a long search.
var wireRequests = flag.Int("wire-requests", 600, "requests of TestMalformedConnections_never_cause_5xx")

// brokenForms are bodies of parts that no client library sends, each with its
// content type.
var brokenForms = [][2]string{
	{"multipart/form-data", "--b\r\n\r\nx"},
	{"multipart/form-data; boundary=", "x"},
	{"multipart/form-data; boundary=b", ""},
	{"multipart/form-data; boundary=b", "--b"},
	{"multipart/form-data; boundary=b", "--b--"},
	{"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n"},
	{"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nabc"},
	{"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n" + strings.Repeat("X: y\r\n", 12_000) + "\r\nabc\r\n--b--\r\n"},
	{"multipart/form-data; boundary=b", "--b\r\nContent-Type: multipart/form-data; boundary=c\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n--c\r\n\r\nx\r\n--c--\r\n--b--\r\n"},
	{"multipart/form-data; boundary=b", "--b\r\nContent-Transfer-Encoding: quoted-printable\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n=ZZ=\r\n--b--\r\n"},
	{"multipart/form-data; boundary=\"\xff\"", "--\xff\r\n\r\n"},
	{"multipart/mixed; boundary=b", "--b\r\n\r\nx\r\n--b--\r\n"},
}

// wire returns an almost valid request and how the connection ends after it.
func (f *fuzzer) wire() (raw []byte, end string) {
	r := f.request()
	body, _ := io.ReadAll(r.Body)
	if f.IntN(3) == 0 {
		form := one(f, brokenForms...)
		body = []byte(form[1])
		r.Header.Set("Content-Type", form[0])
	}
	if f.IntN(6) == 0 {
		r.Header.Set("Cookie", one(f, "sluice=\xff", "session=; session=", strings.Repeat("a=b; ", 500), "=", "theme=\x01"))
	}
	if f.IntN(6) == 0 {
		r.Header.Set("Content-Encoding", one(f, "gzip", "br", "identity, gzip", "\xff"))
	}
	var b bytes.Buffer
	target := strings.NewReplacer(" ", "%20", "\r", "", "\n", "").Replace(r.RequestURI)
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: sluice.test\r\n", r.Method, target)
	r.Header.Del("Host")
	for name, values := range r.Header {
		for _, v := range values {
			fmt.Fprintf(&b, "%s: %s\r\n", name, strings.NewReplacer("\r", "", "\n", "").Replace(v))
		}
	}
	switch f.IntN(8) {
	case 0:
		fmt.Fprintf(&b, "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n%s", len(body), body, one(f, "0\r\n\r\n", "zz\r\n", ""))
		return b.Bytes(), "finish"
	case 1:
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body)+1+f.IntN(1000), body) // always incomplete
		return b.Bytes(), one(f, "finish", "close", "reset")
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return b.Bytes(), one(f, "read", "finish", "finish", "close", "reset", "pipeline")
}

// TestMalformedConnections_never_cause_5xx uses real connections: malformed forms, clients
// that half-close, disconnect or pipeline requests. No response is a 5xx, and no error is
// logged.
func TestMalformedConnections_never_cause_5xx(t *testing.T) {
	t.Parallel()
	need.Time(t)
	m := setupMatrix(t)
	m.setBodyTimeout(2 * time.Second)
	all := []flow.Scope{flow.ScopeRun, flow.ScopeRead, flow.ScopeManage}
	f := &fuzzer{
		Rand: rand.New(rand.NewPCG(20261122, 6)), m: m,
		keys:  []string{m.addKey(flow.Key{Scopes: all}), m.key, "", "x"},
		flows: []string{m.failing, m.unpublished, m.foreign, "flow_x", ""}, runs: []string{m.foreignRun, "run_x", ""},
	}
	byStatus := map[int]int{}
	for i := range *wireRequests {
		raw, end := f.wire()
		c, err := net.Dial("tcp", m.http.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		tcp := c.(*net.TCPConn)
		answers := 1
		if end == "pipeline" {
			raw, answers = append(raw, "GET /livez HTTP/1.1\r\nHost: sluice.test\r\nConnection: close\r\n\r\n"...), 2
		}
		_, _ = c.Write(raw) // the server may reject it before its end
		switch end {
		case "reset":
			_ = tcp.SetLinger(0)
			answers = 0
		case "close":
			answers = 0
		case "finish":
			_ = tcp.CloseWrite()
		}
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second)) // a wait that was asked for may be longer
		reader := bufio.NewReader(c)
		method, _, _ := strings.Cut(string(raw), " ")
		for range answers {
			resp, err := http.ReadResponse(reader, &http.Request{Method: method})
			if err != nil {
				break
			}
			text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
			byStatus[resp.StatusCode]++
			if resp.StatusCode >= 500 && !strings.Contains(string(text), "Unsupported transfer encoding") {
				t.Fatalf("request %d answers %d %s\n%.2000q\n%s", i, resp.StatusCode, text, raw, m.log)
			}
			method = "GET"
		}
		c.Close()
	}
	if strings.Contains(m.log.String(), "level=ERROR") {
		t.Errorf("the log holds errors:\n%.5000s", m.log)
	}
	t.Log("statuses", byStatus)
	if byStatus[202] == 0 || byStatus[422] == 0 || byStatus[404] == 0 || byStatus[400] == 0 || byStatus[415] == 0 {
		t.Errorf("the requests are not varied: %v", byStatus)
	}
}
