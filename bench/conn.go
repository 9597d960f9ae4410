package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// httpConn is a keep-alive connection that implements as little of HTTP/1.1 as
// needed. Package net/http would cost several times more processor time, which the
// callers take from the server on the same cores.
type httpConn struct {
	conn net.Conn
	r    *bufio.Reader
	out  []byte
	body []byte
}

// dial opens a connection. Its buffers are reused, so a request allocates almost nothing.
func dial(addr string) (*httpConn, error) {
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return &httpConn{conn: conn, r: bufio.NewReaderSize(conn, 16<<10)}, nil
}

// close closes the connection. Errors do not matter: all responses have been read.
func (w *httpConn) close() { _ = w.conn.Close() }

// head returns the beginning of a request, up to the value of Content-Length. It is
// built once and sent many times.
func head(method, path, key string, headers ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: sluice\r\nAuthorization: Bearer %s\r\n", method, path, key)
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	if method == "POST" {
		b.WriteString("Content-Type: application/json\r\nContent-Length: ")
	}
	return b.Bytes()
}

// post sends a request with a body. The response is valid until the next request.
func (w *httpConn) post(head, body []byte) (status int, response []byte, err error) {
	w.out = append(w.out[:0], head...)
	w.out = strconv.AppendInt(w.out, int64(len(body)), 10)
	w.out = append(w.out, "\r\n\r\n"...)
	w.out = append(w.out, body...)
	return w.exchange()
}

// get sends a request without a body.
func (w *httpConn) get(head []byte) (status int, response []byte, err error) {
	w.out = append(append(w.out[:0], head...), "\r\n"...)
	return w.exchange()
}

// exchange sends what is in w.out and reads the response. A response that does not arrive
// within two minutes is an error.
func (w *httpConn) exchange() (int, []byte, error) {
	if err := w.conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		return 0, nil, err
	}
	if _, err := w.conn.Write(w.out); err != nil {
		return 0, nil, err
	}
	status, length, err := w.header()
	if err != nil {
		return 0, nil, err
	}
	w.body = w.body[:0]
	if length < 0 {
		err = w.chunks()
	} else {
		err = w.take(length)
	}
	return status, w.body, err
}

// header reads up to the empty line. A length of -1 means a chunked body.
func (w *httpConn) header() (status, length int, err error) {
	line, err := w.r.ReadSlice('\n')
	if err != nil {
		return 0, 0, err
	}
	if len(line) < 12 {
		return 0, 0, errors.New("not HTTP")
	}
	status, err = strconv.Atoi(string(line[9:12]))
	for err == nil {
		if line, err = w.r.ReadSlice('\n'); err != nil || len(line) <= 2 {
			return status, length, err
		}
		if value, ok := valueOf(line, "Content-Length: "); ok {
			length, err = strconv.Atoi(string(bytes.TrimSpace(value)))
		} else if _, ok := valueOf(line, "Transfer-Encoding: chunked"); ok {
			length = -1
		}
	}
	return 0, 0, err
}

// valueOf returns what follows the beginning of a header line, whose letters may be of either case.
func valueOf(line []byte, begin string) ([]byte, bool) {
	if len(line) < len(begin) || !strings.EqualFold(string(line[:len(begin)]), begin) {
		return nil, false
	}
	return line[len(begin):], true
}

// chunks reads a chunked body.
func (w *httpConn) chunks() error {
	for {
		line, err := w.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return err
		}
		if err := w.take(int(n)); err != nil {
			return err
		}
		if _, err := w.r.Discard(2); err != nil || n == 0 {
			return err
		}
	}
}

// take appends n bytes to the body.
func (w *httpConn) take(n int) error {
	at := len(w.body)
	if need := at + n; need > cap(w.body) {
		w.body = append(make([]byte, 0, 2*need), w.body...)
	}
	w.body = w.body[:at+n]
	_, err := io.ReadFull(w.r, w.body[at:])
	return err
}
