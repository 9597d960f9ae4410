package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// serveRequests listens on a free port of this machine and calls respond for each
// request, until that returns an error. Like httpConn it implements as little of
// HTTP/1.1 as needed, because services run in this process and share the cores with
// the server that is measured.
func serveRequests(respond func(conn net.Conn, body []byte) error) (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			go serveConn(conn, respond)
		}
	}()
	return l, nil
}

// serveConn serves one connection until an error.
func serveConn(conn net.Conn, respond func(conn net.Conn, body []byte) error) {
	defer conn.Close()
	for r := bufio.NewReader(conn); ; {
		body, err := readRequest(r)
		if err != nil || respond(conn, body) != nil {
			return
		}
	}
}

// service is a server that flows call. Flows may call it because of allowLoopback.
type service struct{ net.Listener }

func (s service) url() string { return "http://" + s.Addr().String() + "/" }

// newEchoService responds with the body of the request after a delay.
func newEchoService(delay time.Duration) (service, error) {
	l, err := serveRequests(func(conn net.Conn, body []byte) error {
		time.Sleep(delay)
		_, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		return err
	})
	return service{l}, err
}

// newHangingService starts responses that never end, which keeps the steps that wait for
// them at work until the server is killed.
func newHangingService() (service, error) {
	l, err := serveRequests(func(conn net.Conn, _ []byte) error {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nx")
		_, err := io.Copy(io.Discard, conn) // until the caller closes the connection
		return cmp.Or(err, io.EOF)
	})
	return service{l}, err
}

// readRequest reads a request and returns its body.
func readRequest(r *bufio.Reader) ([]byte, error) {
	length := 0
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return nil, err
			}
		}
		if len(line) <= 2 {
			break
		}
	}
	body := make([]byte, length)
	_, err := io.ReadFull(r, body)
	return body, err
}
