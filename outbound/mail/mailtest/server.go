// Package mailtest is an SMTP server for tests. It keeps what it receives, and refuses recipients on demand.
package mailtest

import (
	"bufio"
	"encoding/base64"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"
)

// Message is a received message, decoded.
type Message struct {
	From          string
	To            []string
	Header        netmail.Header
	Subject, Text string
}

// Server is an SMTP server on loopback without encryption.
type Server struct {
	Addr        string
	Credentials string // "user:password@" for URLs; "mailer:secret" is right

	messages chan Message
	mu       sync.Mutex
	refusals []string
	count    int
	signedIn bool
}

// New starts a server that ends with the test.
func New(t *testing.T) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s := &Server{Addr: l.Addr().String(), messages: make(chan Message, 100)}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c)
		}
	}()
	return s
}

// Refuse makes the server answer the next recipients with these lines.
func (s *Server) Refuse(lines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals = append(s.refusals, lines...)
}

// Count returns how many messages arrived.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// SignedIn reports whether a client has authenticated.
func (s *Server) SignedIn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signedIn
}

// Next waits for the next message.
func (s *Server) Next(t *testing.T) Message {
	t.Helper()
	select {
	case m := <-s.messages:
		return m
	case <-time.After(time.Minute):
		t.Fatal("no message arrives")
		return Message{}
	}
}

// refusal returns the next answer of Refuse, or "".
func (s *Server) refusal() (line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.refusals) > 0 {
		line, s.refusals = s.refusals[0], s.refusals[1:]
	}
	return line
}

func (s *Server) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	in := bufio.NewReader(c)
	say := func(line string) { _, _ = io.WriteString(c, line+"\r\n") }
	say("220 test")
	var m Message
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		switch verb, rest, _ := strings.Cut(line, " "); strings.ToUpper(verb) {
		case "EHLO":
			say("250-test")
			say("250 AUTH PLAIN")
		case "AUTH":
			_, encoded, _ := strings.Cut(rest, " ")
			text, _ := base64.StdEncoding.DecodeString(encoded)
			if string(text) != "\x00mailer\x00secret" {
				say("535 5.7.8 Wrong password")
				continue
			}
			s.mu.Lock()
			s.signedIn = true
			s.mu.Unlock()
			say("235 ok")
		case "MAIL":
			m = Message{From: address(rest)}
			say("250 ok")
		case "RCPT":
			if no := s.refusal(); no != "" {
				say(no)
				continue
			}
			m.To = append(m.To, address(rest))
			say("250 ok")
		case "DATA":
			say("354 go on")
			s.receive(in, m)
			say("250 ok")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

// address returns the address of MAIL FROM:<…> and RCPT TO:<…>.
func address(rest string) string {
	_, text, _ := strings.Cut(rest, "<")
	text, _, _ = strings.Cut(text, ">")
	return text
}

// receive reads a message to the line with a dot.
func (s *Server) receive(in *bufio.Reader, m Message) {
	var raw strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil || line == ".\r\n" {
			break
		}
		raw.WriteString(strings.TrimPrefix(line, "."))
	}
	msg, err := netmail.ReadMessage(strings.NewReader(raw.String()))
	if err != nil {
		return
	}
	body := msg.Body
	if msg.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
		body = quotedprintable.NewReader(body)
	}
	text, _ := io.ReadAll(body)
	m.Header, m.Text = msg.Header, strings.ReplaceAll(string(text), "\r\n", "\n")
	m.Subject, _ = new(mime.WordDecoder).DecodeHeader(msg.Header.Get("Subject"))
	s.mu.Lock()
	s.count++
	s.mu.Unlock()
	s.messages <- m
}
