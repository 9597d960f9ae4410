package main

import (
	"bytes"
	"fmt"
	"time"
)

const warmUp = 2 * time.Second

// waiting starts runs of a flow and holds on until they have ended; each has a
// name of its own and must give the text that belongs to it.
func waiting(flowID, key string, want func(name string) string) call {
	start := head("POST", "/v1/flow/"+flowID+"/run", key, "Prefer: wait=30")
	return func(w *wire, caller, n int) error {
		name := fmt.Sprintf("c%d-%d", caller, n)
		status, body, err := w.post(start, []byte(`{"name":"`+name+`"}`))
		if err == nil && (status != 200 || !bytes.Contains(body, []byte(`"status":"succeeded"`)) || !bytes.Contains(body, []byte(want(name)))) {
			err = fmt.Errorf("status %d, wanted %s: %s", status, want(name), body)
		}
		return err
	}
}

func greeted(name string) string { return `"outputs":{"text":"Hello ` + name + `!"}` }

// rate measures a flow on a fresh server, after a while of warming up.
func (b *bench) rate(document []byte, callers int, want func(string) string, env ...string) (l *load, limit string, err error) {
	s, err := b.newServer(env...)
	if err != nil {
		return nil, "", err
	}
	defer s.kill()
	id, key, err := s.prepare(document)
	if err != nil {
		return nil, "", err
	}
	if limit, err = b.machineLimit(s, callers); err != nil {
		return nil, "", err
	}
	do := waiting(id, key, want)
	if _, err = flawless(drive(s.addr, callers, warmUp, 0, do)); err != nil {
		return nil, "", fmt.Errorf("warm up: %w", err)
	}
	before := s.spent()
	b.profiling(s, func() { l, err = drive(s.addr, callers, b.seconds, 0, do) })
	if err != nil {
		return nil, "", err
	}
	limit += "; " + before.since(s, len(l.times))
	b.errors += l.errors
	return l, limit, s.stop()
}

// prepare publishes a flow and makes a key.
func (s *server) prepare(document []byte) (id, key string, err error) {
	if id, err = s.publish(document); err == nil {
		key, err = s.key()
	}
	return id, key, err
}

func (b *bench) waitRow() error {
	l, limit, err := b.rate(greeting(), b.callers, greeted)
	if err != nil {
		return err
	}
	b.add(fmt.Sprintf("input → template → output, `Prefer: wait`, %d callers", b.callers),
		fmt.Sprintf("%s runs/s; p50 %s, p99 %s; %d errors", count(l.rate()), ms(l.at(.5)), ms(l.at(.99)), l.errors), "≥ 2,000 runs/s, aim 4,000", limit)
	return nil
}

func (b *bench) singleRow() error {
	l, limit, err := b.rate(greeting(), 1, greeted)
	if err != nil {
		return err
	}
	b.add("the same, one caller", fmt.Sprintf("p50 %s, p99 %s; %s runs/s; %d errors", ms(l.at(.5)), ms(l.at(.99)), count(l.rate()), l.errors), "p50 ≤ 3 ms, p99 ≤ 15 ms", limit)
	return nil
}

// serviceTime is how long the called service takes.
const serviceTime = 20 * time.Millisecond

func (b *bench) httpRow() error {
	service, err := newService(serviceTime, false)
	if err != nil {
		return err
	}
	defer service.Close()
	want := func(name string) string { return `"outputs":{"text":{"name":"` + name + `"}}` }
	l, limit, err := b.rate(calling(service.url()), b.callers, want, "SLUICE_ALLOW_PRIVATE=127.0.0.0/8")
	if err != nil {
		return err
	}
	b.add(fmt.Sprintf("input → HTTP request of %s → output, `Prefer: wait`, %d callers", ms(serviceTime), b.callers),
		fmt.Sprintf("%s runs/s; p50 %s, p99 %s; %d errors", count(l.rate()), ms(l.at(.5)), ms(l.at(.99)), l.errors),
		"≥ 1,000 runs/s, p50 ≤ 60 ms", fmt.Sprintf("%s calls/s at most; %s", count(float64(b.callers)/serviceTime.Seconds()), limit))
	return nil
}
