package dbtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
)

// Proxy forwards the connections between a program and a PostgreSQL server and breaks
// them as networks do: it stalls them, cuts them, and loses the answer to a request
// that the server has executed. It understands the
// framing of PostgreSQL's protocol, but no TLS: give the program
// sslmode=disable. It is safe for concurrent use.
type Proxy struct {
	listener net.Listener
	network  string // of the target: "unix" or "tcp"
	target   string

	mu      sync.Mutex
	stalled chan struct{} // nil while bytes flow
	lose    func(sql string) bool
	links   map[*link]struct{}
	lost    int
	closed  bool
	serving sync.WaitGroup
}

// link is one proxied connection.
type link struct {
	p              *Proxy
	client, server net.Conn

	mu         sync.Mutex
	statements map[string]string // SQL by name of the prepared statement
	portals    map[string]string // SQL by name of the portal
	losing     bool              // the answer that ends next is lost
}

// NewProxy starts a proxy on a free port of the loopback interface. The target
// is an address of package net, such as "unix" and Server.Socket.
func NewProxy(t testing.TB, network, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("start the proxy: %v", err)
	}
	p := &Proxy{listener: l, network: network, target: target, links: map[*link]struct{}{}}
	p.serving.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Addr returns the host and port that programs connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// URL returns the address of a database through the proxy, for the superuser.
func (p *Proxy) URL(database string) string {
	return "postgres://sluice@" + p.Addr() + "/" + database + "?sslmode=disable"
}

// Stall stops all bytes, in both directions, and leaves connections open. New
// connections are accepted and get no answer.
func (p *Proxy) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled == nil {
		p.stalled = make(chan struct{})
	}
}

// Resume ends a stall; bytes that waited are delivered.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled != nil {
		close(p.stalled)
		p.stalled = nil
	}
}

// Cut closes connections, each with the given probability, and returns how
// many it closed. 1 cuts all.
func (p *Proxy) Cut(probability float64) (cut int) {
	for _, l := range p.all() {
		if probability >= 1 || rand.Float64() < probability {
			l.close()
			cut++
		}
	}
	return cut
}

// LoseAnswers forwards each request for which lose returns true, waits until
// the server has answered it, drops the answer and cuts the connection. nil
// ends that. Statements are passed as sent, "commit" included; lose must be
// safe for concurrent use.
func (p *Proxy) LoseAnswers(lose func(sql string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = lose
}

// LosesAnswersTo is for LoseAnswers: it reports whether a statement contains
// the text, regardless of case.
func LosesAnswersTo(text string) func(sql string) bool {
	text = strings.ToLower(text)
	return func(sql string) bool { return strings.Contains(strings.ToLower(sql), text) }
}

// Lost returns the number of lost answers.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// all returns a copy of the open connections, which is safe to use without the lock.
func (p *Proxy) all() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]*link, 0, len(p.links))
	for l := range p.links {
		list = append(list, l)
	}
	return list
}

// close refuses new connections, cuts the open ones, and waits until none is served.
func (p *Proxy) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.listener.Close()
	p.Resume()
	p.Cut(1)
	p.serving.Wait()
}

// accept serves connections until the listener is closed.
func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.serving.Go(func() { p.serve(conn) })
	}
}

// serve copies both directions of a connection until either side ends it.
func (p *Proxy) serve(client net.Conn) {
	p.waitForResume()
	var d net.Dialer
	server, err := d.DialContext(context.Background(), p.network, p.target)
	if err != nil {
		_ = client.Close()
		return
	}
	l := &link{p: p, client: client, server: server, statements: map[string]string{}, portals: map[string]string{}}
	p.mu.Lock()
	p.links[l] = struct{}{}
	closed := p.closed
	p.mu.Unlock()
	if closed {
		l.close()
	}
	var directions sync.WaitGroup
	directions.Go(func() { l.forward(l.requests) })
	directions.Go(func() { l.forward(l.answers) })
	directions.Wait()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// waitForResume waits until bytes may flow.
func (p *Proxy) waitForResume() {
	for {
		p.mu.Lock()
		stalled := p.stalled
		p.mu.Unlock()
		if stalled == nil {
			return
		}
		<-stalled
	}
}

// close cuts a connection on both sides, as a crash would.
func (l *link) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}

// forward copies one direction until it ends, and then ends the other one.
func (l *link) forward(direction func() error) {
	_ = direction()
	l.close()
}

// requests copies from the program to the server and records the statements.
func (l *link) requests() error {
	from, to := bufio.NewReader(l.client), bufio.NewWriter(l.server)
	// The first message, unlike all others, begins with its length.
	startup, err := readFrame(from, 0)
	if err != nil {
		return err
	}
	for frame := startup; ; {
		l.p.waitForResume()
		if _, err := to.Write(frame); err != nil {
			return err
		}
		if from.Buffered() == 0 {
			if err := to.Flush(); err != nil {
				return err
			}
		}
		if frame, err = readFrame(from, 1); err != nil {
			return err
		}
		l.recordMessage(frame[0], frame[5:])
	}
}

// answers copies from the server to the program, unless the answer is lost.
func (l *link) answers() error {
	from, to := bufio.NewReader(l.server), bufio.NewWriter(l.client)
	for {
		frame, err := readFrame(from, 1)
		if err != nil {
			return err
		}
		l.p.waitForResume()
		l.mu.Lock()
		losing := l.losing
		l.mu.Unlock()
		if losing && frame[0] == 'Z' { // ready for the next query, so this one is done
			l.p.mu.Lock()
			l.p.lost++
			l.p.mu.Unlock()
			return nil
		}
		if losing {
			continue
		}
		if _, err := to.Write(frame); err != nil {
			return err
		}
		if from.Buffered() == 0 {
			if err := to.Flush(); err != nil {
				return err
			}
		}
	}
}

// recordMessage records which statement a message executes. A simple query contains it; with
// the extended protocol, separate messages parse it, bind it to a portal, and execute
// the portal.
func (l *link) recordMessage(kind byte, body []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch kind {
	case 'Q':
		l.recordStatement(text(&body))
	case 'P':
		name := text(&body)
		l.statements[name] = text(&body)
	case 'B':
		portal := text(&body)
		l.portals[portal] = l.statements[text(&body)]
	case 'E':
		l.recordStatement(l.portals[text(&body)])
	}
}

// recordStatement marks the connection as losing if the test wants the answer to this statement to
// be lost: the connection is then cut as soon as the server has executed it. The caller
// holds the lock of the link.
func (l *link) recordStatement(sql string) {
	l.p.mu.Lock()
	lose := l.p.lose
	l.p.mu.Unlock()
	if lose != nil && lose(sql) {
		l.losing = true
	}
}

// text removes a zero-terminated string from the front of a message.
func text(body *[]byte) string {
	s, rest, _ := bytes.Cut(*body, []byte{0})
	*body = rest
	return string(s)
}

// readFrame reads a message: the kind with the given number of bytes, the length, and
// the body.
func readFrame(r *bufio.Reader, kind int) ([]byte, error) {
	head := make([]byte, kind+4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	size := int(binary.BigEndian.Uint32(head[kind:]))
	frame := make([]byte, kind+max(size, 4))
	copy(frame, head)
	_, err := io.ReadFull(r, frame[len(head):])
	return frame, err
}
