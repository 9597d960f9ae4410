package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const (
	agentTurns = 20      // with one call each, of the agents whose speed is measured
	longTurns  = 100     // of the agent whose records are measured
	longText   = 5 << 10 // bytes that it says in each turn
	wakeTurns  = 199     // of the agent that is woken, before it asks
)

// agentModelName is the model of the credential bench.
const agentModelName = "bench/model"

// agentModel is a model without latency. It calls the tool look in each of the first turns of a conversation, then
// the tool confirm if there is one, and answers.
type agentModel struct {
	net.Listener
	turns int
	text  string // of each turn
	asked atomic.Int64
	last  chan time.Time // of requests after the call of confirm; nil: not sent
}

func newAgentModel(turns, text int) (*agentModel, error) {
	m := &agentModel{turns: turns, text: strings.Repeat("x", text)}
	var err error
	m.Listener, err = serveRequests(m.respond)
	return m, err
}

// url returns the base URL for a credential.
func (m *agentModel) url() string { return "http://" + m.Addr().String() + "/v1" }

// respond answers at once. The turn follows from the conversation.
func (m *agentModel) respond(conn net.Conn, body []byte) error {
	at, turn := time.Now(), bytes.Count(body, []byte(`"role":"assistant"`))
	m.asked.Add(1)
	delta, stop := object{"content": "done"}, "stop"
	confirms := bytes.Contains(body, []byte(`"name":"confirm"`))
	switch {
	case turn < m.turns:
		delta, stop = callOf("look", turn), "tool_calls"
		delta["content"] = m.text
	case turn == m.turns && confirms:
		delta, stop = callOf("confirm", turn), "tool_calls"
	case m.last != nil:
		m.last <- at
	}
	var events strings.Builder
	for _, choice := range []object{{"index": 0, "delta": delta}, {"index": 0, "delta": object{}, "finish_reason": stop}} {
		data, err := json.Marshal(object{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []object{choice}, "usage": object{"prompt_tokens": 7, "completion_tokens": 3}})
		if err != nil {
			return err
		}
		fmt.Fprintf(&events, "data: %s\n\n", data)
	}
	events.WriteString("data: [DONE]\n\n")
	_, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%s", events.Len(), events.String())
	return err
}

// callOf returns the part of an answer with one call of a tool.
func callOf(tool string, turn int) object {
	return object{"tool_calls": []object{{"index": 0, "id": fmt.Sprint("call_", turn), "type": "function", "function": object{"name": tool, "arguments": fmt.Sprintf(`{"value": "%d"}`, turn)}}}}
}

// working returns the flow input, agent with a tool that reads, output. With asks, the agent has a tool that asks a person.
func working(asks bool) []byte {
	tool := func(id string, setting object) object {
		n := node(id, "expression", object{"expression": "value"})
		setting["description"], setting["params"] = "Looks.", object{"value": object{"description": "A number", "schema": object{"type": "string"}}}
		n["tool"] = setting
		return n
	}
	nodes := []object{nameInput(), node("agent", "agent", object{"model": agentModelName, "prompt": "{{name}}", "max_turns": 200, "max_calls": 1000, "compact_at": 100_000_000}), textOutput(), tool("look", object{})}
	edges := []string{"name.value", "agent.name", "agent.text", "out.value", "look.tool", "agent.tools"}
	if asks {
		nodes, edges = append(nodes, tool("confirm", object{"effect": "write", "approval": "always"})), append(edges, "confirm.tool", "agent.tools")
	}
	return document("Work", nodes, edges...)
}

// withModel starts a server on a platform with the credential of a model.
func (b *benchmark) withModel(on platform, url string, env ...string) *server {
	env = append(env, allowLoopback)
	if on.postgres {
		env = append(env, "DATABASE_URL="+b.database(), "SLUICE_MASTER_KEY="+masterKey)
	}
	s := must(b.newServer(env...))
	s.addModel(url)
	return s
}

// addModel adds the credential of a model.
func (s *server) addModel(url string) {
	_, err := s.command([]byte("no secret"), "credential", "add", "--name", "bench", "--provider", "openai_compatible", "--base-url", url)
	if err != nil {
		s.kill()
	}
	check(err)
}

// turnsRow measures agents as runs that callers wait for. With -peers, other programs do the same in a loop whose turns and calls are recorded steps.
func (b *benchmark) turnsRow() {
	m := must(newAgentModel(agentTurns, 20))
	defer m.Close()
	b.rate(workload{
		title: fmt.Sprintf("agent, %d turns and %d calls", agentTurns+1, agentTurns), document: working(false), model: m.url(), env: []string{allowLoopback},
		want: func(string) string { return `"outputs":{"text":"done"}` }, callers: []int{parallel},
	})
}

// agentsRow measures what a turn of an agent with one call costs, how much turns record, and how agents wait.
func (b *benchmark) agentsRow() {
	for _, on := range b.on {
		if on.instances > 1 {
			continue
		}
		b.agentTurns(on)
		b.agentRecords(on)
		b.agentWake(on)
		b.agentsWaiting(on)
	}
}

// agentTurns measures the time of turns, for one agent and for many.
func (b *benchmark) agentTurns(on platform) {
	m := must(newAgentModel(agentTurns, 20))
	defer m.Close()
	s := b.withModel(on, m.url())
	defer s.kill()
	id, key := s.prepare(working(false))
	do := waiting(id, key, func(string) string { return "done" })
	must(requireCorrect(drive([]string{s.addr}, 1, 0, 5, do)))
	commits := b.sqliteCommits
	if on.postgres {
		commits = b.postgresCommits
	}
	for _, callers := range []int{1, parallel} {
		limit := commits(callers, b.seconds/5)
		before := s.cpuTime()
		l := must(requireCorrect(drive([]string{s.addr}, callers, b.seconds, 0, do)))
		turns := len(l.times) * (agentTurns + 1)
		b.errors += l.errors
		each := func(share float64) string { return ms(l.percentile(share) / (agentTurns + 1)) }
		b.add(fmt.Sprintf("turns of %s with one read call, %s", agentsAt(callers), on.title()),
			fmt.Sprintf("%s turns/s; per turn p50 %s, p99 %s of the runs' averages; %s", count(float64(turns)/l.took.Seconds()), each(.5), each(.99), strings.Replace(before.since(s, turns), "per run", "per turn", 1)),
			"one agent: p50 ≤ 2.5 commits + 1 ms", fmt.Sprintf("a synced commit p50 %s; %s/s", ms(limit.percentile(.5)), count(limit.rate())))
	}
}

// agentsAt names a number of agents.
func agentsAt(n int) string {
	if n == 1 {
		return "one agent"
	}
	return count(float64(n)) + " agents at once"
}

// agentRecords compares what an early and a late turn of a long conversation record.
func (b *benchmark) agentRecords(on platform) {
	m := must(newAgentModel(longTurns, longText))
	defer m.Close()
	s := b.withModel(on, m.url())
	defer s.kill()
	id, key := s.prepare(working(false))
	run, w := s.begin(id, key, "done")
	defer w.close()
	var sizes [2]int
	total := 0
	for cursor := ""; ; {
		status, body, err := w.get(head("GET", "/v1/flow/"+id+"/run/"+run+"/steps?under=agent&contents=1"+cursor, key))
		var page struct {
			Steps      []json.RawMessage
			NextCursor string `json:"next_cursor"`
		}
		if err != nil || status != 200 || json.Unmarshal(body, &page) != nil {
			check(unexpected(status, body, err))
		}
		for _, raw := range page.Steps {
			var step struct{ Path string }
			check(json.Unmarshal(raw, &step))
			total += len(raw)
			switch step.Path {
			case "agent.10":
				sizes[0] = len(raw)
			case fmt.Sprint("agent.", longTurns):
				sizes[1] = len(raw)
			}
		}
		if page.NextCursor == "" {
			break
		}
		cursor = "&cursor=" + page.NextCursor
	}
	b.add(fmt.Sprintf("what an agent records in %d turns of %d KiB, %s", longTurns, longText>>10, on.title()),
		fmt.Sprintf("%s bytes; turn 10 %s, turn %d %s", count(float64(total)), count(float64(sizes[0])), longTurns, count(float64(sizes[1]))), "≤ 3 MB; equal ± 10 %", "")
}

// begin starts a run, waits until it ends or waits for people, and returns its ID.
func (s *server) begin(id, key, want string) (run string, w *httpConn) {
	w = must(dial(s.addr))
	status, body, err := w.post(head("POST", "/v1/flow/"+id+"/run", key, "Prefer: wait=30"), []byte(`{"name":"a"}`))
	var r struct {
		RunID string `json:"run_id"`
	}
	if err != nil || status >= 300 || json.Unmarshal(body, &r) != nil || r.RunID == "" || !bytes.Contains(body, []byte(want)) {
		w.close()
		check(unexpected(status, body, err))
	}
	return r.RunID, w
}

// agentWake measures how long an agent with many recorded turns takes from an answer to its question to its next request.
func (b *benchmark) agentWake(on platform) {
	m := must(newAgentModel(wakeTurns, longText))
	defer m.Close()
	m.last = make(chan time.Time, 1)
	s := b.withModel(on, m.url())
	defer s.kill()
	id, key := s.prepare(working(true))
	desk := must(s.command(nil, "key", "create", "--name", "desk", "--scope", "approve"))
	var times []time.Duration
	for range 5 {
		run, w := s.begin(id, key, "")
		path := fmt.Sprintf("/v1/flow/%s/run/%s/approvals/agent.%d.1.ask", id, run, wakeTurns+1)
		answer := head("POST", path, desk)
		for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			at := time.Now()
			status, body, err := w.post(answer, []byte(`{"decision":"approved"}`))
			if err == nil && status == 200 {
				times = append(times, (<-m.last).Sub(at))
				break
			}
			if err != nil || at.After(until) {
				w.close()
				check(unexpected(status, body, err))
			}
		}
		w.close()
	}
	slices.Sort(times)
	l := &load{times: times}
	b.add(fmt.Sprintf("from an answer to the next request of an agent with %d recorded turns of %d KiB, %s", wakeTurns+1, longText>>10, on.title()),
		fmt.Sprintf("p50 %s, at most %s", ms(l.percentile(.5)), ms(l.percentile(1))), "≤ 15 ms", "")
}

// agentsWaiting starts agents that wait for people.
func (b *benchmark) agentsWaiting(on platform) {
	m := must(newAgentModel(0, 0))
	defer m.Close()
	s := b.withModel(on, m.url(), "SLUICE_QUOTA_RUNS=unlimited")
	defer s.kill()
	id, key := s.prepare(working(true))
	start := head("POST", "/v1/flow/"+id+"/run", key)
	begin := func(n int) {
		until, want := time.Now().Add(5*time.Minute), m.asked.Load()+int64(n)
		l := must(requireCorrect(drive([]string{s.addr}, parallel, 0, n, func(w *httpConn, _, _ int) error {
			status, body, err := w.post(start, []byte(`{"name":"a"}`))
			if err != nil || status != 202 {
				return unexpected(status, body, err)
			}
			return nil
		})))
		b.errors += l.errors
		for m.asked.Load() < want {
			if time.Now().After(until) {
				check(fmt.Errorf("%d of %d agents asked their model", m.asked.Load(), want))
			}
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(settleTime)
	}
	begin(b.waiting / 10)
	before, started := s.rss(), time.Now()
	begin(b.waiting)
	b.add(fmt.Sprintf("%s agents that wait for a person, %s", count(float64(b.waiting)), on.title()),
		fmt.Sprintf("%+.0f MiB, from %.0f MiB; after %s", s.rss()-before, before, time.Since(started).Round(time.Second)), "no memory beyond the page cache", "")
}

// agentStreamRow measures agents that stream their text at once, like streamRow.
func (b *benchmark) agentStreamRow(s *server) {
	m := must(newModel())
	defer m.Close()
	s.addModel(m.url())
	agent := node("ask", "agent", object{"model": agentModelName, "prompt": "{{name}}"})
	_, key := s.prepare(document("Ask", []object{nameInput(), agent, textOutput()}, "name.value", "ask.name", "ask.text", "out.value"))
	complete := head("POST", "/v1/chat/completions", key)
	memory := 0.0
	stop := sampleEvery(50*time.Millisecond, func() { memory = max(memory, s.rss()) })
	l := b.stream(s.addr, m, func(name string) (head, body []byte) {
		return complete, []byte(`{"model":"ask","stream":true,"messages":[{"role":"user","content":"` + name + `"}]}`)
	})
	stop()
	b.errors += l.errors
	b.add(fmt.Sprintf("%s agents that stream at once, %d tokens each, %s apart", count(float64(b.streams)), tokens, ms(tokenInterval)),
		fmt.Sprintf("first token passed on after p50 %s, p99 %s; at most %s MiB; %d at once; %d errors", ms(l.percentile(.5)), ms(l.percentile(.99)), count(memory), m.peak.Load(), l.errors),
		"p50 ≤ 1.5 ms, ≤ 300 MiB", "")
}
