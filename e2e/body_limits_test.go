package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// sendAll sends a complete request on a connection of its own before it reads the response, as
// many HTTP/1.1 clients do.
func (s *server) sendAll(head string, body io.Reader) (*http.Response, []byte, error) {
	c, err := net.Dial("tcp", strings.TrimPrefix(s.base(), "http://"))
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	if _, err := io.WriteString(c, head); err != nil {
		return nil, nil, fmt.Errorf("send the head: %w", err)
	}
	if n, err := io.Copy(c, body); err != nil {
		return nil, nil, fmt.Errorf("send the body: failed after %d bytes: %w", n, err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return nil, nil, fmt.Errorf("read the response: %w", err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp, data, err
}

// spaces is a body of n bytes.
func spaces(n int64) io.Reader { return io.LimitReader(spaceReader{}, n) }

type spaceReader struct{}

func (spaceReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestLargeBodies_are_refused_without_a_reset sends bodies above the limit of each route, with a
// known length and in chunks, and far above it. The response must arrive although the client reads
// it only when it has sent everything.
func TestLargeBodies_are_refused_without_a_reset(t *testing.T) {
	t.Parallel()
	s := newServer(t, "SLUICE_MAX_FILE=5MiB")
	flowID := s.publish(documentOf("Echo", []object{input("n"), node("f", "input", object{"name": "f", "type": "file"}), output("n")}, "n.value > out_n.value"))
	d := &dashboard{server: s}
	d.person(ownerEmail, "owner")
	d.openForm(flowID)
	key := s.key("--scope", "run,read,manage,edit")
	const part = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n"
	for _, route := range []struct {
		name, line, headers, begin string
		limit                      int64
		status                     int
	}{
		{"run", "POST /v1/flow/" + flowID + "/run", "Content-Type: application/json", "", 1 << 20, 413},
		{"apply", "POST /v1/apply", "Content-Type: application/json", "", 32 << 20, 413},
		{"create a flow", "POST /v1/flow", "Content-Type: application/json", "", 5 << 20, 413},
		{"chat completions", "POST /v1/chat/completions", "Content-Type: application/json", "", 32 << 20, 413},
		{"MCP", "POST /mcp", "Content-Type: application/json\r\nAccept: application/json, text/event-stream", "", 1 << 20, 413},
		{"files", "POST /v1/files", "Content-Type: multipart/form-data; boundary=x", part, 6 << 20, 413},
		{"sign in", "POST /sign-in", "Content-Type: application/x-www-form-urlencoded\r\nSec-Fetch-Site: same-origin", "", 1 << 20, 413},
		{"form", "POST /f/" + flowID, "Content-Type: multipart/form-data; boundary=x", strings.Replace(part, "file", "in.f", 1), 40 << 20, 413},
		{"without a key", "POST /v1/flow/" + flowID + "/run", "Authorization: Bearer none\r\nContent-Type: application/json", "", 1 << 20, 401},
		{"nowhere", "POST /v1/nowhere", "Content-Type: application/json", "", 1 << 20, 404},
	} {
		headers := route.headers + "\r\nHost: x\r\n"
		if !strings.Contains(headers, "Authorization") {
			headers += "Authorization: Bearer " + key + "\r\n"
		}
		for _, size := range []int64{route.limit + 1, route.limit + 40<<20} {
			for _, closes := range []string{"", "Connection: close\r\n"} {
				name := fmt.Sprintf("%s, %d bytes, %s", route.name, size, strings.TrimSpace(closes))
				head := fmt.Sprintf("%s HTTP/1.1\r\n%s%sContent-Length: %d\r\n\r\n", route.line, headers, closes, size)
				s.wantRefusal(name, head, io.MultiReader(strings.NewReader(route.begin), spaces(size-int64(len(route.begin)))), route.status)
				head = fmt.Sprintf("%s HTTP/1.1\r\n%s%sTransfer-Encoding: chunked\r\n\r\n", route.line, headers, closes)
				chunked := io.MultiReader(strings.NewReader(fmt.Sprintf("%x\r\n%s", size+int64(len(route.begin)), route.begin)), spaces(size), strings.NewReader("\r\n0\r\n\r\n"))
				s.wantRefusal(name+" in a chunk", head, chunked, route.status)
			}
		}
	}
}

// wantRefusal sends a request and wants a status.
func (s *server) wantRefusal(name, head string, body io.Reader, status int) {
	s.t.Helper()
	resp, data, err := s.sendAll(head, body)
	if err != nil {
		s.t.Errorf("%s: %v", name, err)
	} else if resp.StatusCode != status {
		s.t.Errorf("%s: status %d, wanted %d: %.300s", name, resp.StatusCode, status, data)
	}
}
