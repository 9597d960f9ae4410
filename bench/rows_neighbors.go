package main

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"
)

// neighborCallers is the number of callers of each of two keys.
const neighborCallers = 32

// neighborRounds is how often the kinds of keys alternate.
const neighborRounds = 5

// neighbor is a key beside another one.
type neighbor struct {
	what   string
	flags  []string // of its creation
	status int      // of its responses, 0 for runs that succeed
	key    string
	own    []*sample // of its callers
	others []*sample // of the callers beside it
}

// neighbors measures what one key costs the callers of another: a key with a budget in
// dollars, and keys that are refused. Each round compares with a second plain key, which takes its
// share of the machine too.
func (b *benchmark) neighbors(on platform) {
	s := must(b.newServer(on.env(b)...))
	defer s.kill()
	id, plain := s.prepare(greeting())
	list := []*neighbor{
		{what: "a plain key"},
		{what: "a key with a budget in dollars", flags: []string{"--usd-per-day", "1000"}},
		{what: "a key whose runs of the day are used up", flags: []string{"--runs-per-day", "1"}, status: 402},
		{what: "a key that is called too often", flags: []string{"--rpm", "1"}, status: 429},
	}
	for _, n := range list {
		n.key = must(s.command(nil, append([]string{"key", "create", "--name", n.what}, n.flags...)...))
		must(requireCorrect(drive([]string{s.addr}, neighborCallers, warmUp, 0, waiting(id, plain, greeted))))
		if n.status != 0 {
			must(requireCorrect(drive([]string{s.addr}, 1, 0, 1, waiting(id, n.key, greeted)))) // uses it up
		}
	}
	for round := range neighborRounds {
		for i := range list {
			n := list[(i+round)%len(list)]
			own, other := b.pair(s, id, plain, n)
			n.own, n.others = append(n.own, own), append(n.others, other)
		}
	}
	for _, n := range list[1:] {
		figures := "its neighbors " + ratio(n.others, list[0].others, rateOf)
		want := "≥ 0.97"
		if n.status == 0 {
			figures, want = "itself "+ratio(n.own, list[0].own, rateOf)+", "+figures, "≥ 0.9, neighbors ≥ 0.97"
		} else {
			cost := b.refusalCost(s, refused(id, n.key, n.status))
			figures, want = fmt.Sprintf("%s, one refusal %s of processor time", figures, ms(cost)), "≤ 0.1 ms"
		}
		b.add(n.what+" beside another, "+on.title()+", in runs of a plain key", figures, want, "")
	}
	check(s.stop())
}

// pair drives the callers of a plain key and of its neighbor at the same time.
func (b *benchmark) pair(s *server, id, plain string, n *neighbor) (own, other *sample) {
	do := waiting(id, n.key, greeted)
	if n.status != 0 {
		do = refused(id, n.key, n.status)
	}
	own, other = &sample{}, &sample{}
	done := make(chan error)
	go func() {
		var err error
		own.load, err = requireCorrect(drive([]string{s.addr}, neighborCallers, b.seconds/neighborRounds, 0, do))
		done <- err
	}()
	l, err := requireCorrect(drive([]string{s.addr}, neighborCallers, b.seconds/neighborRounds, 0, waiting(id, plain, greeted)))
	other.load = l
	check(cmp.Or(err, <-done))
	return own, other
}

// refusalCost returns the processor time of the server for one refusal.
func (b *benchmark) refusalCost(s *server, do call) time.Duration {
	before := s.cpuTime()
	l := must(requireCorrect(drive([]string{s.addr}, neighborCallers, b.seconds/neighborRounds, 0, do)))
	return (s.cpuTime().server - before.server) / time.Duration(max(1, len(l.times)))
}

// refused returns a call that must be refused with a status.
func refused(flowID, key string, want int) call {
	head := head("POST", "/v1/flow/"+flowID+"/run", key, "Prefer: wait=30")
	return func(w *httpConn, _, _ int) error {
		status, body, err := w.post(head, []byte(`{"name":"a"}`))
		if err != nil || status != want || !bytes.Contains(body, []byte(`"code":"`)) {
			return unexpected(status, body, err)
		}
		return nil
	}
}

// env returns the settings of a server with a new database on the platform.
func (p platform) env(b *benchmark) []string {
	if !p.postgres {
		return nil
	}
	return strings.Fields("DATABASE_URL=" + b.database() + " SLUICE_MASTER_KEY=" + masterKey)
}
