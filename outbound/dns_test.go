package outbound

import (
	"context"
	"encoding/binary"
	"io"
	"log"
	"net"
	"net/netip"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

var quiet = log.New(io.Discard, "", 0)

// fakeDNS is a name server reached through a pipe. It answers with what the
// function gives for the name's n-th lookup, counted from 1.
type fakeDNS struct {
	answer func(name string, n int) []string

	mu      sync.Mutex
	lookups map[string]int
}

func newResolver(answer func(name string, n int) []string) *net.Resolver {
	d := &fakeDNS{answer: answer, lookups: map[string]int{}}
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go d.serve(server)
		return client, nil
	}}
}

// silentResolver never reaches its name server.
func silentResolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
}

func (d *fakeDNS) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var size [2]byte // DNS over a stream: RFC 1035, section 4.2.2
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		reply := d.reply(query)
		binary.BigEndian.PutUint16(size[:], uint16(len(reply)))
		if _, err := conn.Write(append(size[:], reply...)); err != nil {
			return
		}
	}
}

func (d *fakeDNS) reply(query []byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		panic(err)
	}
	q := m.Questions[0]
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	for _, s := range d.lookup(strings.TrimSuffix(q.Name.String(), "."), q.Type) {
		ip := netip.MustParseAddr(s)
		header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
		switch {
		case ip.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: ip.As4()}})
		case ip.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}})
		}
	}
	out, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return out
}

// lookup counts A and AAAA apart, because one lookup of a name asks for both.
func (d *fakeDNS) lookup(name string, kind dnsmessage.Type) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := name + kind.String()
	d.lookups[key]++
	return d.answer(name, d.lookups[key])
}
