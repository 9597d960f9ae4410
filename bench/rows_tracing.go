package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"
)

// tracingCallers is the number of callers of each server in the row tracing.
const tracingCallers = 64

// tracing measures what traces cost: runs of a server that sends spans to a collector, and to one that accepts
// connections and never answers, in those of a server without traces. A second server without traces shows what the
// machine itself varies by.
func (b *benchmark) tracing(on platform) {
	var received atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		received.Add(n)
	}))
	defer collector.Close()
	dead := must(net.Listen("tcp", "127.0.0.1:0"))
	defer dead.Close()
	var servers []*server
	var calls []call
	for _, endpoint := range []string{"", "", collector.URL, "http://" + dead.Addr().String()} {
		s := must(b.newServer(append(on.env(b), "OTEL_EXPORTER_OTLP_ENDPOINT="+endpoint)...))
		defer s.kill()
		id, key := s.prepare(greeting())
		servers, calls = append(servers, s), append(calls, waiting(id, key, greeted))
		must(requireCorrect(drive([]string{s.addr}, tracingCallers, warmUp, 0, calls[len(calls)-1])))
	}
	samples := make([][]*sample, len(servers))
	for round := range b.rounds {
		for i := range servers {
			i = (i + round) % len(servers) // so that none always comes first
			samples[i] = append(samples[i], traced(b, servers[i], calls[i]))
		}
	}
	figures := func(m []*sample) string {
		return fmt.Sprintf("runs/s %s, p99 %s, processor time per run %s", ratio(m, samples[0], rateOf),
			ratio(m, samples[0], func(m *sample) float64 { return float64(m.percentile(.99)) }), ratio(m, samples[0], func(m *sample) float64 { return float64(m.own) }))
	}
	title, noise := fmt.Sprintf("runs of %d callers with traces, %s, in those without", tracingCallers, on.title()), "a second server without: "+figures(samples[1])
	b.add(title, figures(samples[2])+fmt.Sprintf(", %d MB arrived", received.Load()>>20), "processor time ≤ 1.03 ×", noise)
	b.add(title+", collector dead", figures(samples[3]), "p99 ≤ 1.02 ×", noise)
	for _, s := range servers {
		check(s.stop())
	}
}

// traced drives a server for one round.
func traced(b *benchmark, s *server, do call) *sample {
	m, before := &sample{}, processTime(s.cmd.Process.Pid)
	m.load = must(requireCorrect(drive([]string{s.addr}, tracingCallers, b.seconds/time.Duration(b.rounds), 0, do)))
	m.own = (processTime(s.cmd.Process.Pid) - before) / time.Duration(max(1, len(m.times)))
	return m
}
