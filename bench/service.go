package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// service is the server that flows call, in this process and as cheap as the
// callers. It answers with the body it was sent, after a while.
type service struct {
	net.Listener
	pause time.Duration
	hang  bool // begins an answer and never ends it
}

func newService(pause time.Duration, hang bool) (*service, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &service{l, pause, hang}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s, nil
}

func (s *service) url() string { return "http://" + s.Addr().String() + "/" }

func (s *service) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		body, err := readRequest(r)
		if err != nil {
			return
		}
		if s.hang {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nx")
			_, _ = io.Copy(io.Discard, conn) // until the caller has gone
			return
		}
		time.Sleep(s.pause)
		if _, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
			return
		}
	}
}

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
