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

// burst is many starts at once, not waited for.
type burst struct {
	*server
	flowID, key string
	mu          sync.Mutex
	last        map[int]string // each caller's newest run
	accepted    int
}

func newBurst(s *server, document []byte) (*burst, error) {
	id, key, err := s.prepare(document)
	return &burst{server: s, flowID: id, key: key, last: map[int]string{}}, err
}

// accept starts so many runs and returns when all are accepted.
func (u *burst) accept(callers, runs int) (*load, error) {
	start := head("POST", "/v1/flow/"+u.flowID+"/run", u.key)
	before := u.accepted
	l, err := drive(u.addr, callers, 0, runs, func(w *wire, caller, n int) error {
		status, body, err := w.post(start, fmt.Appendf(nil, `{"name":"b%d-%d-%d"}`, before, caller, n))
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
	return l, err
}

// drain waits until all have ended: first for each caller's newest, then until
// no other is open.
func (u *burst) drain() error {
	w, err := dial(u.addr)
	if err != nil {
		return err
	}
	defer w.close()
	for _, id := range u.last {
		for {
			status, body, err := w.get(head("GET", "/v1/flow/"+u.flowID+"/run/"+id+"?wait=60", u.key))
			if err != nil || status != 200 {
				return unexpected(status, body, err)
			}
			if !bytes.Contains(body, []byte(`"ended_at":null`)) {
				break
			}
		}
	}
	for _, state := range []string{"queued", "running"} {
		for open := true; open; {
			status, body, err := w.get(head("GET", "/v1/flow/"+u.flowID+"/runs?limit=1&status="+state, u.key))
			if err != nil || status != 200 {
				return unexpected(status, body, err)
			}
			open = bytes.Contains(body, []byte(`"run_id"`))
		}
	}
	return nil
}

// verify pages through all runs and wants as many as were accepted, each with
// the text that belongs to its name.
func (u *burst) verify() (wrong int, err error) {
	w, err := dial(u.addr)
	if err != nil {
		return 0, err
	}
	defer w.close()
	seen := map[string]bool{}
	for cursor := ""; ; {
		status, body, err := w.get(head("GET", "/v1/flow/"+u.flowID+"/runs?limit=100"+cursor, u.key))
		if err != nil || status != 200 {
			return 0, unexpected(status, body, err)
		}
		var page struct {
			Runs []struct {
				Status          string
				Inputs, Outputs map[string]string
			}
			Next *string `json:"next_cursor"`
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return 0, err
		}
		for _, r := range page.Runs {
			if name := r.Inputs["name"]; r.Status != "succeeded" || r.Outputs["text"] != "Hello "+name+"!" || seen[name] {
				wrong++
			} else {
				seen[name] = true
			}
		}
		if page.Next == nil {
			return wrong + max(u.accepted-len(seen), len(seen)-u.accepted), nil
		}
		cursor = "&cursor=" + url.QueryEscape(*page.Next)
	}
}

func (b *bench) burstRow() error {
	s, err := b.newServer()
	if err != nil {
		return err
	}
	defer s.kill()
	u, err := newBurst(s, greeting())
	if err != nil {
		return err
	}
	limit, err := b.machineLimit(s, parallel)
	if err != nil {
		return err
	}
	begun, before := time.Now(), s.spent()
	l, err := u.accept(parallel, b.burst)
	if err != nil {
		return err
	}
	if err := u.drain(); err != nil {
		return err
	}
	all := time.Since(begun)
	limit += "; " + before.since(s, b.burst)
	wrong, err := u.verify()
	if err != nil {
		return err
	}
	b.errors += l.errors + wrong
	b.add(fmt.Sprintf("burst of %s starts, %d callers, workers on", count(float64(b.burst)), parallel),
		fmt.Sprintf("%s accepted/s; p50 %s, p99 %s; all ended after %.1f s (%s runs/s); %d errors",
			count(l.rate()), ms(l.at(.5)), ms(l.at(.99)), all.Seconds(), count(float64(b.burst)/all.Seconds()), l.errors+wrong), "≥ 3,000 accepted/s", limit)
	return s.stop()
}

// queueRow fills the queue behind workers that are all busy.
func (b *bench) queueRow() error {
	const workers = 256 // the default
	service, err := newService(0, true)
	if err != nil {
		return err
	}
	defer service.Close()
	s, err := b.newServer("SLUICE_ALLOW_PRIVATE=127.0.0.0/8")
	if err != nil {
		return err
	}
	defer s.kill()
	busy, err := newBurst(s, calling(service.url()))
	if err != nil {
		return err
	}
	if _, err := flawless(busy.accept(parallel, workers)); err != nil {
		return fmt.Errorf("occupy the workers: %w", err)
	}
	u, err := newBurst(s, greeting())
	if err != nil {
		return err
	}
	return b.fill(s, u)
}

// fill measures the first and the last tenth of what is queued.
func (b *bench) fill(s *server, u *burst) error {
	limit, err := b.machineLimit(s, parallel)
	if err != nil {
		return err
	}
	tenth := b.queued / 10
	var rates, sizes []string
	for i, runs := range []int{tenth, b.queued - 2*tenth, tenth} {
		l, err := u.accept(parallel, runs)
		if err != nil {
			return err
		}
		b.errors += l.errors
		if i != 1 {
			rates = append(rates, count(l.rate()))
			sizes = append(sizes, fmt.Sprintf("%.0f", s.rss()))
		}
	}
	s.kill()
	if err := s.start(); err != nil {
		return err
	}
	b.add(fmt.Sprintf("%s runs queued behind busy workers, first and last tenth", count(float64(b.queued))),
		fmt.Sprintf("%s accepted/s, %s MiB; ready %s after kill -9 and start", strings.Join(rates, " → "), strings.Join(sizes, " → "), ms(s.ready)), "memory flat", limit)
	return nil
}
