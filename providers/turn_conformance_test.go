package providers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// The conformance table of turns: what real servers answer to requests with tools, in the format of
// each wire, and what a caller gets for it. Answers are written by hand and served over HTTP. After
// every answer with calls, their results are sent, and that request is checked too.

// turnWires are the wire formats of turns, by a provider that uses it. A case may name another
// provider after a colon.
var turnWires = map[string]string{"chat": "groq", "gemini": "gemini", "responses": "openai", "anthropic": "anthropic"}

// turnCase is a row of the table.
type turnCase struct {
	name string
	// request changes the request, which has a prompt and the tools weather and now.
	request func(*TurnRequest)
	// answers are the answers of each wire in order; the last one is repeated. One that begins
	// with "400 " is a refusal.
	answers map[string][]string
	want    outcome
	// sent are texts that must be in the last request of the turn, by wire; with "!" they must
	// not. back are texts of the next request, which sends the results.
	sent, back map[string][]string
	// live is how the case is run against a real model; nil: no prompt brings it about.
	live *liveTurn
}

// outcome is what a caller gets.
type outcome struct {
	text, stop string
	calls      []ToolCall
	class      ErrorClass
	says       string // in the message of the error
	value      string // JSON
	usage      Usage  // zero: 7 and 3
	asked      int    // requests; 0: 1
	lost       bool   // the bill is unknown
	free       bool   // there is no bill
}

// same is an answer that is equal on several wires.
func same(answer string, wires ...string) map[string][]string {
	m := map[string][]string{}
	for _, w := range wires {
		m[w] = []string{answer}
	}
	return m
}

// Answers of chat completions.
var (
	chatCalls = finish("tool_calls") + usage(7, 3) + done
	chatStop  = finish("stop") + usage(7, 3) + done
)

// chatSays is a delta with members.
func chatSays(members string) string {
	return data(`{"model":"m-2026","choices":[{"index":0,"delta":{` + members + `},"finish_reason":null}]}`)
}

// Answers of the Responses API.
func rText(text string) string {
	piece, _ := json.Marshal(text)
	return data(`{"type":"response.output_text.delta","output_index":0,"delta":` + string(piece) + `}`)
}

// rItem is a complete item.
func rItem(item string) string {
	return data(`{"type":"response.output_item.done","output_index":0,"item":` + item + `}`)
}

// rMessage is a message item.
func rMessage(text string) string {
	piece, _ := json.Marshal(text)
	return `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":` + string(piece) + `,"annotations":[]}]}`
}

// rCall is a call item.
func rCall(id, name, arguments string) string {
	args, _ := json.Marshal(arguments)
	return `{"type":"function_call","id":"fc_` + id + `","call_id":"` + id + `","name":"` + name + `","arguments":` + string(args) + `,"status":"completed"}`
}

// rEnd is the last event, with all items.
func rEnd(items ...string) string { return rEndAs("completed", `null`, items...) }

func rEndAs(status, details string, items ...string) string {
	return data(`{"type":"response.` + status + `","response":{"object":"response","status":"` + status + `","model":"m-2026","error":null,"incomplete_details":` + details +
		`,"output":[` + strings.Join(items, ",") + `],"usage":{"input_tokens":7,"output_tokens":3,"total_tokens":10}}}`)
}

// rAnswer is a stream of items.
func rAnswer(items ...string) string {
	all := data(`{"type":"response.created","response":{"object":"response","status":"in_progress","output":[]}}`)
	for _, item := range items {
		all += rItem(item)
	}
	return all + rEnd(items...)
}

// Answers of Anthropic.
var aFront = event("message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m-2026","content":[],"stop_reason":null,"usage":{"input_tokens":7,"output_tokens":1}}}`)

// aBlock is a content block with its deltas.
func aBlock(index int, start string, deltas ...string) string {
	all := event("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, start))
	for _, d := range deltas {
		all += event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, d))
	}
	return all + event("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

// aText is a block of text.
func aText(index int, text string) string {
	piece, _ := json.Marshal(text)
	return aBlock(index, `{"type":"text","text":""}`, `{"type":"text_delta","text":`+string(piece)+`}`)
}

// aCall is a call whose input comes in fragments.
func aCall(index int, id, name string, fragments ...string) string {
	var deltas []string
	for _, f := range fragments {
		piece, _ := json.Marshal(f)
		deltas = append(deltas, `{"type":"input_json_delta","partial_json":`+string(piece)+`}`)
	}
	return aBlock(index, `{"type":"tool_use","id":"`+id+`","name":"`+name+`","input":{}}`, deltas...)
}

// aEnd ends an answer.
func aEnd(reason string) string {
	return event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":3}}`) + event("message_stop", `{"type":"message_stop"}`)
}

// chatCall is a whole call in one chunk.
func chatCall(index int, id, name, arguments string) string {
	args, _ := json.Marshal(arguments)
	return callDelta(fmt.Sprintf(`{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}`, index, id, name, args))
}

const (
	oslo = `{"city":"Oslo"}`
	rome = `{"city":"Rome"}`
)

// calls are calls of the tool weather with IDs c1, c2 …
func calls(arguments ...string) (list []ToolCall) {
	for i, a := range arguments {
		list = append(list, ToolCall{ID: "c" + itoa(i+1), Name: "weather", Arguments: a})
	}
	return list
}

// turnServer answers with the given answers in order.
func turnServer(t *testing.T, answers []string) *upstream {
	var u *upstream
	u = setup(t, func(w http.ResponseWriter, _ *http.Request) {
		body := answers[min(len(u.asked()), len(answers))-1]
		if refusal, refused := strings.CutPrefix(body, "400 "); refused {
			w.Header().Set("Content-Type", typeJSON)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, refusal)
			return
		}
		if rest, none := strings.CutPrefix(body, "404 "); none {
			http.Error(w, rest, http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", typeStream)
		cut := strings.HasSuffix(body, "CUT")
		_, _ = io.WriteString(w, strings.TrimSuffix(body, "CUT"))
		if cut {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	return u
}

// turnRequest is the request of all cases.
func turnRequest(t *testing.T) TurnRequest {
	return TurnRequest{ChatRequest: ChatRequest{Model: "m", System: "Be brief.", Prompt: "What is the weather?"}, Parallel: true,
		Tools: []Tool{weather(t), {Name: "now", Description: "Tells the time."}}}
}

// TestTurn_conforms runs the table.
func TestTurn_conforms(t *testing.T) {
	t.Parallel()
	names, rows := map[string]bool{}, 0
	for _, c := range turnCases() {
		if names[c.name] {
			t.Errorf("two cases are named %q", c.name)
		}
		names[c.name] = true
		for wire, answers := range c.answers {
			rows++
			t.Run(c.name+"/"+wire, func(t *testing.T) {
				t.Parallel()
				c.run(t, wire, answers)
			})
		}
	}
	if len(names) < 30 || rows < 100 {
		t.Errorf("the table has %d cases and %d rows", len(names), rows)
	}
}

// run sends the request, and then the results of the calls.
func (c *turnCase) run(t *testing.T, wire string, answers []string) {
	format, provider, named := strings.Cut(wire, ":")
	if !named {
		provider = turnWires[format]
	}
	u := turnServer(t, answers)
	req := turnRequest(t)
	if c.request != nil {
		c.request(&req)
	}
	var shown strings.Builder
	r, err := u.client.Turn(brief(t), u.at(provider), req, func(s string) { shown.WriteString(s) })
	want := c.want
	if want.usage == (Usage{}) {
		want.usage = Usage{InputTokens: 7, OutputTokens: 3}
	}
	if asked := len(u.asked()); asked != max(want.asked, 1) {
		t.Errorf("asked %d times", asked)
	}
	contains(t, u.last(t).body, c.sent[format])
	if want.class != "" {
		e := failure(t, err)
		if e.Class != want.class || !strings.Contains(e.Message, want.says) || Lost(err) != want.lost {
			t.Errorf("got %s, lost %v: %q", e.Class, Lost(err), e.Message)
		}
		if r != nil && (r.Text != "" || r.Items != nil) || want.free != (r == nil) && !want.lost || !want.lost && !want.free && (r == nil || r.Usage != want.usage) {
			t.Errorf("got %+v", r)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	got := []ToolCall{}
	for _, call := range r.Calls() {
		got = append(got, *call)
	}
	r.Usage.Tier = ""
	if r.Text != want.text || shown.String() != want.text || r.Stop != want.stop || len(got)+len(want.calls) > 0 && !reflect.DeepEqual(got, want.calls) || r.Usage != want.usage {
		t.Errorf("got %q, shown %q, %q, %+v, %+v", r.Text, shown.String(), r.Stop, got, r.Usage)
	}
	if value, _ := json.Marshal(r.JSON); want.value != "" && string(value) != want.value {
		t.Errorf("got the value %s", value)
	}
	c.sendResults(t, u, provider, format, req, r)
}

// sendResults records the answer, sends the results of its calls, and compares the two requests:
// the second must begin with the bytes of the first, or no cache of a provider works.
func (c *turnCase) sendResults(t *testing.T, u *upstream, provider, format string, req TurnRequest, r *TurnResult) {
	before := u.last(t).body
	stored, err := json.Marshal(r.Items)
	if err != nil {
		t.Fatal(err)
	}
	var items []Item
	if err := json.Unmarshal(stored, &items); err != nil {
		t.Fatal(err)
	}
	req.Items = append(req.Items, items...)
	for _, call := range callsOf(items) {
		req.Items = append(req.Items, Item{Type: ItemResult, Result: &ToolResult{CallID: call.ID, Name: call.Name, Text: "Result of " + call.ID}})
	}
	if len(callsOf(items)) == 0 {
		req.Items = append(req.Items, Item{Type: ItemText, Role: "user", Text: "Are you sure?"})
	}
	_, err = u.client.Turn(brief(t), u.at(provider), req, nil)
	after := u.last(t).body
	if len(u.asked()) < max(c.want.asked, 1)+1 {
		t.Fatalf("the results were not sent: %v", err)
	}
	for _, call := range callsOf(items) {
		contains(t, after, []string{`"Result of ` + call.ID})
	}
	contains(t, after, c.back[format])
	if c.want.asked > 1 {
		return // the first request was sent in several forms
	}
	old, now := conversationOf(t, before), conversationOf(t, after)
	if !bytes.HasPrefix(now, bytes.TrimSuffix(old, []byte("]"))) {
		t.Errorf("the conversation changed\nfrom %s\nto   %s", old, now)
	}
}

// conversationOf returns what providers cache of a request, in the order in which they do, without
// marks.
func conversationOf(t *testing.T, body []byte) []byte {
	t.Helper()
	var r map[string]json.RawMessage
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	all := bytes.Join([][]byte{r["tools"], r["system"], r["instructions"], r["input"], r["messages"]}, nil)
	return bytes.ReplaceAll(bytes.ReplaceAll(all, []byte(`"cache_control":{"type":"ephemeral"},`), nil), []byte(`,"cache_control":{"type":"ephemeral"}`), nil)
}

// contains checks texts in a body.
func contains(t *testing.T, body []byte, texts []string) {
	t.Helper()
	for _, text := range texts {
		if no, absent := strings.CutPrefix(text, "!"); absent == bytes.Contains(body, []byte(strings.TrimPrefix(no, "!"))) {
			t.Errorf("sent %s\nwanted %s", body, text)
		}
	}
}
