package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"
)

// burst starts many runs at once without waiting for their ends. It remembers just enough
// to know when all have ended and whether all are there.
type burst struct {
	*server
	flowID, key string
	mu          sync.Mutex
	last        map[int]string // ID of each caller's newest run
	accepted    int            // runs so far
}

// newBurst publishes a flow to start runs of.
func newBurst(s *server, document []byte) *burst {
	id, key := s.prepare(document)
	return &burst{server: s, flowID: id, key: key, last: map[int]string{}}
}

// accept starts a number of runs and returns when all are accepted.
func (u *burst) accept(callers, runs int) (*load, error) {
	request := head("POST", "/v1/flow/"+u.flowID+"/run", u.key)
	before := u.accepted
	return drive([]string{u.addr}, callers, 0, runs, func(w *httpConn, caller, n int) error {
		status, body, err := w.post(request, fmt.Appendf(nil, `{"name":"b%d-%d-%d"}`, before, caller, n))
		if err != nil || status != 202 {
			return unexpected(status, body, err)
		}
		_, rest, _ := bytes.Cut(body, []byte(`"run_id":"`))
		id, _, found := bytes.Cut(rest, []byte(`"`))
		if !found {
			return fmt.Errorf("no run object: %s", body)
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		u.last[caller] = string(id)
		u.accepted++
		return nil
	})
}

// drain waits until all runs have ended: first for each caller's newest, then until
// no other is queued or running.
func (u *burst) drain() {
	w := must(dial(u.addr))
	defer w.close()
	for _, id := range u.last {
		for bytes.Contains(u.get(w, "/run/"+id+"?wait=60"), []byte(`"ended_at":null`)) {
		}
	}
	for _, state := range []string{"queued", "running"} {
		for bytes.Contains(u.get(w, "/runs?limit=1&status="+state), []byte(`"run_id"`)) {
		}
	}
}

// get returns the response for a path below that of the flow.
func (u *burst) get(w *httpConn, path string) []byte {
	status, body, err := w.get(head("GET", "/v1/flow/"+u.flowID+path, u.key))
	if err != nil || status != 200 {
		check(unexpected(status, body, err))
	}
	return body
}

// verify lists all runs. It returns how many are missing, duplicate or have the wrong
// output: a fast server that loses runs is not fast.
func (u *burst) verify() (wrong int) {
	w := must(dial(u.addr))
	defer w.close()
	seen := map[string]bool{}
	for cursor := ""; ; {
		var page struct {
			Runs []struct {
				Status          string
				Inputs, Outputs map[string]string
			}
			Next *string `json:"next_cursor"`
		}
		check(json.Unmarshal(u.get(w, "/runs?limit=100"+cursor), &page))
		for _, r := range page.Runs {
			if name := r.Inputs["name"]; r.Status != "succeeded" || r.Outputs["text"] != "Hello "+name+"!" || seen[name] {
				wrong++
			} else {
				seen[name] = true
			}
		}
		if page.Next == nil {
			return wrong + max(u.accepted-len(seen), len(seen)-u.accepted)
		}
		cursor = "&cursor=" + url.QueryEscape(*page.Next)
	}
}

// burstRow measures how fast runs are accepted and when the last of them has ended. The
// workers compete with accepting, as in production.
func (b *benchmark) burstRow(s *server) {
	u := newBurst(s, greeting())
	limit := b.machineLimit(s, parallel)
	start, before := time.Now(), s.cpuTime()
	l := must(u.accept(parallel, b.burst))
	u.drain()
	all := time.Since(start)
	limit += "; " + before.since(s, b.burst)
	wrong := u.verify()
	b.errors += l.errors + wrong
	b.add(fmt.Sprintf("burst of %s starts, %d callers, workers on", count(float64(b.burst)), parallel),
		fmt.Sprintf("%s accepted/s; p50 %s, p99 %s; all ended after %.1f s (%s runs/s); %d errors",
			count(l.rate()), ms(l.percentile(.5)), ms(l.percentile(.99)), all.Seconds(), count(float64(b.burst)/all.Seconds()), l.errors+wrong), "≥ 3,000 accepted/s", limit)
}

// queueRow fills the queue while all workers are busy. Neither the rate nor the memory may
// depend on the length of the queue, and a start with a long queue must be as fast as any.
// The server is killed at the end: an orderly shutdown would wait for the hanging steps.
func (b *benchmark) queueRow() {
	const workers = 256 // the default
	service := must(newHangingService())
	defer service.Close()
	s := must(b.newServer(allowLoopback))
	defer s.kill()
	must(requireCorrect(newBurst(s, calling(service.url())).accept(parallel, workers)))
	b.fill(s, newBurst(s, greeting()))
}

// fill queues runs and measures the first and the last tenth of them, between which the
// queue has grown tenfold. At last it kills the server and measures how long a start takes.
func (b *benchmark) fill(s *server, u *burst) {
	limit := b.machineLimit(s, parallel)
	tenth := b.queued / 10
	var rates, sizes []string
	for i, runs := range []int{tenth, b.queued - 2*tenth, tenth} {
		l := must(u.accept(parallel, runs))
		b.errors += l.errors
		if i != 1 {
			rates = append(rates, count(l.rate()))
			sizes = append(sizes, fmt.Sprintf("%.0f", s.rss()))
		}
	}
	s.kill()
	check(s.start())
	b.add(fmt.Sprintf("%s runs queued behind busy workers, first and last tenth", count(float64(b.queued))),
		fmt.Sprintf("%s accepted/s, %s MiB; ready %s after kill -9 and start", strings.Join(rates, " → "), strings.Join(sizes, " → "), ms(s.ready)), "memory flat", limit)
}
