package main

import (
	"bytes"
	"fmt"
	"slices"
	"time"
)

const (
	chatPairs   = 500 // calls of each route that are compared
	chatStreams = 16  // streams at once whose first token is timed
)

// chatRow measures what OpenAI's API adds to a run: the same flow called over both routes by
// one caller in turns, and the time that first tokens take through the route.
func (b *benchmark) chatRow(s *server) {
	_, key := s.prepare(greeting())
	run := head("POST", "/v1/flow/greet/run", key, "Prefer: wait=30")
	complete := head("POST", "/v1/chat/completions", key)
	var times [2][]time.Duration // of runs, of completions
	l := must(drive([]string{s.addr}, 1, 0, 2*(chatPairs+chatPairs/10), func(w *httpConn, _, n int) error {
		name := fmt.Sprintf("n%d", n)
		request, body, want := run, `{"name":"`+name+`"}`, greeted(name)
		if n%2 == 1 {
			request, body, want = complete, `{"model":"greet","messages":[{"role":"user","content":"`+name+`"}]}`, `"content":"Hello `+name+`!"`
		}
		took, err := timed(func() error {
			status, answer, err := w.post(request, []byte(body))
			if err != nil || status != 200 || !bytes.Contains(answer, []byte(want)) {
				return unexpected(status, answer, err)
			}
			return nil
		})
		if err == nil && n >= chatPairs/5 { // the first ones fill caches
			times[n%2] = append(times[n%2], took)
		}
		return err
	}))
	var middle [2]time.Duration
	for i := range times {
		slices.Sort(times[i])
		middle[i] = (&load{times: times[i]}).percentile(.5)
	}

	m := must(newModel())
	defer m.Close()
	must(s.command([]byte("no secret"), "credential", "add", "--name", "bench", "--provider", "openai_compatible", "--base-url", m.url()))
	s.prepare(chatting("bench"))
	all := b.streams
	b.streams = chatStreams
	first := b.stream(s.addr, m, func(name string) (head, body []byte) {
		return complete, []byte(`{"model":"ask","stream":true,"messages":[{"role":"user","content":"` + name + `"}]}`)
	})
	b.streams = all
	b.errors += l.errors + first.errors
	b.add(fmt.Sprintf("`/v1/chat/completions`, one caller in turns with the run route; %d streams at once", chatStreams),
		fmt.Sprintf("adds %s to a run (p50 %s and %s); first token passed on after p50 %s, p99 %s; %d errors", ms(middle[1]-middle[0]), ms(middle[1]), ms(middle[0]),
			ms(first.percentile(.5)), ms(first.percentile(.99)), l.errors+first.errors),
		"adds ≤ 2 ms; p50 ≤ 5 ms", "")
}
