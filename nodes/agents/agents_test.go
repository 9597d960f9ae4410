package agents_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/value"
	"sluice/providers/scripted"
)

func TestAgent_calls_tools_until_it_answers(t *testing.T) {
	t.Parallel()
	w := script(t, "Let me see.\nlookup {\"id\": \"a\"}\nlookup {\"id\": \"b\"}", "It is on its way.")
	r := w.ask(t, "", "")
	if r.State != flow.StepSucceeded || r.Outputs["text"] != "It is on its way." || r.Outputs["finish"] != "stop" {
		t.Fatalf("%s %v %v", r.State, r.Error, r.Outputs)
	}
	if got := r.paths(); got != "n succeeded, n.1 succeeded, n.1.1 succeeded, n.1.2 succeeded, n.2 succeeded" {
		t.Errorf("rows: %s", got)
	}
	results := w.results(t, 2)
	has(t, results[0], `{"status":200,"body":"found /orders/a"}`)
	has(t, results[1], "/orders/b")
	if got, want := string(value.Canonical(value.Get(value.Get(w.tools(t)[0], "function"), "parameters"))),
		`{"additionalProperties":false,"properties":{"id":{}},"required":["id"],"type":"object"}`; got != want {
		t.Errorf("schema: %s", got)
	}
	calls, _ := r.Outputs["calls"].([]any)
	if len(calls) != 2 || flow.Text(value.Get(calls[1], "path")) != "n.1.2" || flow.Text(value.Get(calls[1], "state")) != "succeeded" {
		t.Errorf("calls: %s", flow.EncodeJSON(calls))
	}
	if r.run.Progress != (flow.Progress{Done: 1, Total: 1}) || r.run.Usage.InputTokens == 0 || r.Usage.InputTokens != 0 {
		t.Errorf("progress %+v, usage %+v of the run, %+v of the agent", r.run.Progress, r.run.Usage, r.Usage)
	}
}

func decode(t *testing.T, data []byte) any {
	t.Helper()
	v, err := flow.DecodeJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestAgent_outputs_the_conversation_with_calls (R22).
func TestAgent_outputs_the_conversation_with_calls(t *testing.T) {
	t.Parallel()
	w := script(t, "Let me see.\nlookup {\"id\": \"a\"}", "Sent.")
	r := w.ask(t, "", "")
	got := string(flow.EncodeJSON(value.Plain(r.Outputs["messages"])))
	has(t, got, `{"content":"Where is it?","role":"user"}`, `"tool_calls":[{"function":{"arguments":"{\"id\": \"a\"}","name":"lookup"},"id":"call_0_0","type":"function"}]`,
		`"role":"tool","tool_call_id":"call_0_0"`, `{"content":"Sent.","role":"assistant"}`)
}

// TestAgent_records_only_what_is_new (R1): a turn takes as many bytes late as early.
func TestAgent_records_only_what_is_new(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(r *scripted.Request) string {
		if r.Turn >= 30 {
			return "Done."
		}
		return fmt.Sprintf(`lookup {"id": "order-%02d"}`, r.Turn+1)
	})
	r := w.ask(t, `, "max_turns": 50`, "")
	size := func(turn int) (n int) {
		for path, row := range r.rows {
			if path == fmt.Sprintf("n.%d", turn) || strings.HasPrefix(path, fmt.Sprintf("n.%d.", turn)) {
				n += len(flow.EncodeJSON(row.Input)) + len(flow.EncodeJSON(row.Outputs))
			}
		}
		return n
	}
	if early, late := size(3), size(30); r.State != flow.StepSucceeded || late > early+early/10 {
		t.Errorf("%s %v: turn 3 has %d bytes, turn 30 has %d", r.State, r.Error, early, late)
	}
}

// TestAgent_gives_each_call_its_own_arguments (R13).
func TestAgent_gives_each_call_its_own_arguments(t *testing.T) {
	t.Parallel()
	w := script(t, "lookup {\"id\": \"1\"}\nlookup {\"id\": \"2\"}\nlookup {\"id\": \"3\"}\nlookup {\"id\": \"4\"}\nlookup {\"id\": \"5\"}", "Done.")
	w.ask(t, "", "")
	for i, result := range w.results(t, 2) {
		has(t, result, fmt.Sprintf("/orders/%d", i+1))
	}
}

// TestAgent_makes_calls_in_order_if_asked_to.
func TestAgent_makes_calls_in_order_if_asked_to(t *testing.T) {
	t.Parallel()
	w := script(t, "lookup {\"id\": \"1\"}\nlookup {\"id\": \"2\"}\nlookup {\"id\": \"3\"}", "Done.")
	w.ask(t, `, "parallel": false`, "")
	if got := strings.Join(w.shop.paths, " "); got != "/orders/1 /orders/2 /orders/3" {
		t.Errorf("called %s", got)
	}
	has(t, string(w.model.Requests()[0].Raw), `"parallel_tool_calls":false`)
}

// TestAgent_gives_every_call_one_result (R7).
func TestAgent_gives_every_call_one_result(t *testing.T) {
	t.Parallel()
	w := script(t, "lookup {\"id\": \"1\"}\nmissing {\"id\": \"2\"}\nlookup {\"wrong\": true}\nlookup {no JSON", "Done.")
	w.ask(t, "", "")
	results := w.results(t, len(w.model.Requests())) // broken JSON is asked for once more
	if len(results) != 4 || len(w.shop.paths) != 1 {
		t.Fatalf("results: %q", results)
	}
	has(t, results[0], "200")
	has(t, results[1], `There is no tool "missing"`)
	has(t, results[2], "The arguments are invalid")
	has(t, results[3], "The arguments are invalid")
}

// TestAgent_accepts_calls_without_arguments (R14).
func TestAgent_accepts_calls_without_arguments(t *testing.T) {
	t.Parallel()
	for _, arguments := range []string{"{-}", "null{-}", "{}"} { // {-} is an empty text
		w := script(t, "ping {-}"+arguments, "Done.")
		r := w.execute(t, `
			n agent {"model": "fake/m", "prompt": "Ping."}
			ping http_request {"url": "SHOP/ping"} {"tool": {"description": "Pings."}}
			ping.tool -> n.tools`, nil)
		if r.rows["n.1.1"].State != flow.StepSucceeded {
			t.Errorf("%s: %s", arguments, r.paths())
		}
	}
}

// TestAgent_refuses_repetitions (R11).
func TestAgent_refuses_repetitions(t *testing.T) {
	t.Parallel()
	w := script(t, `lookup {"id": "1"}`)
	r := w.ask(t, `, "repeat_limit": 2, "on_limit": "fail"`, "")
	if r.State != flow.StepFailed || r.Error.Code != flow.CodeAgentStuck || len(w.shop.paths) != 2 || len(w.model.Requests()) != 4 {
		t.Fatalf("%s %v after %d calls in %d turns", r.State, r.Error, len(w.shop.paths), len(w.model.Requests()))
	}
	has(t, w.results(t, 4)[2], "You have made this call 2 times with the same result")
}

// TestAgent_answers_at_a_limit (R9, R10): visibly, from what it has, without tools.
func TestAgent_answers_at_a_limit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, config string
		turns        int
	}{{"of turns", `, "max_turns": 2`, 3}, {"of calls", `, "max_calls": 1`, 2}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(r *scripted.Request) string {
				if r.Body["tool_choice"] == "none" {
					return "As far as I know, it was sent."
				}
				return fmt.Sprintf(`lookup {"id": "%d"}`, r.Turn+1)
			})
			r := w.ask(t, c.config, "")
			requests := w.model.Requests()
			if r.State != flow.StepSucceeded || r.Outputs["finish"] != "limit" || r.Outputs["text"] != "As far as I know, it was sent." || len(requests) != c.turns {
				t.Fatalf("%s %v %v after %d turns", r.State, r.Error, r.Outputs["finish"], len(requests))
			}
			if last := requests[len(requests)-1]; len(last.Tools) != 1 {
				t.Errorf("the last turn has %d tools", len(last.Tools))
			}
		})
	}
	again := func(r *scripted.Request) string { return fmt.Sprintf(`lookup {"id": "%d"}`, r.Turn+1) }
	t.Run("or fails", func(t *testing.T) {
		t.Parallel()
		if r := newWorld(t, again).ask(t, `, "max_turns": 1, "on_limit": "fail"`, ""); r.State != flow.StepFailed || r.Error.Code != flow.CodeAgentLimit {
			t.Errorf("%s %v", r.State, r.Error)
		}
	})
	t.Run("or takes the branch", func(t *testing.T) {
		t.Parallel()
		r := newWorld(t, again).ask(t, `, "max_turns": 1, "on_limit": "route"`, "")
		if _, answered := r.Outputs["text"]; r.State != flow.StepSucceeded || answered || value.Get(r.Outputs["limited"], "finish") != "limit" {
			t.Errorf("%s %v %v", r.State, r.Error, r.Outputs)
		}
	})
}

func TestAgent_limits_the_calls_of_a_tool(t *testing.T) {
	t.Parallel()
	w := script(t, "lookup {\"id\": \"1\"}\nlookup {\"id\": \"2\"}", "Done.")
	w.ask(t, "", `, "max_calls": 1`)
	has(t, w.results(t, 2)[1], "The limit of 1 call of this tool is reached")
	if len(w.shop.paths) != 1 {
		t.Errorf("called %q", w.shop.paths)
	}
}

// TestAgent_sends_the_same_beginning_each_turn (R20).
func TestAgent_sends_the_same_beginning_each_turn(t *testing.T) {
	t.Parallel()
	w := script(t, `lookup {"id": "1"}`, `lookup {"id": "2"}`, `lookup {"id": "3"}`, "Done.")
	w.ask(t, `, "system": "Be brief."`, "")
	before := ""
	for i, r := range w.model.Requests() {
		messages := string(flow.EncodeJSON(value.Get(decode(t, r.Raw), "messages")))
		tools := string(flow.EncodeJSON(value.Get(decode(t, r.Raw), "tools")))
		if text := strings.TrimSuffix(messages, "]"); !strings.HasPrefix(text, before) {
			t.Errorf("turn %d has the messages\n%s\nand the turn before had\n%s", i+1, text, before)
		} else {
			before = text
		}
		if first := string(flow.EncodeJSON(value.Get(decode(t, w.model.Requests()[0].Raw), "tools"))); tools != first {
			t.Errorf("turn %d has the tools %s", i+1, tools)
		}
	}
}

// TestAgent_cuts_long_results (R18): the model reads the rest without a second call.
func TestAgent_cuts_long_results(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcdé", 1000)
	w := script(t, "lookup {\"id\": \"1\"}", `read_result {"call": "1.1", "from": 15000, "length": 20}`, "Done.")
	w.shop.answer = func(out http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(out, long) }
	r := w.ask(t, `, "result_limit": 1`, "")
	first, second := w.results(t, 2)[0], w.results(t, 3)[1]
	requests := w.model.Requests()
	if r.State != flow.StepSucceeded || len(first) > 1300 || len(w.shop.paths) != 1 || len(requests[0].Tools) != 1 || len(requests[1].Tools) != 2 {
		t.Fatalf("%s %v, %d requests, first result of %d bytes", r.State, r.Error, len(w.shop.paths), len(first))
	}
	has(t, first, `read_result(call: "1.1", from: 1024)`)
	whole := `{"status":200,"body":"` + long
	has(t, second, whole[15001:15010])
}

func TestAgent_sends_errors_to_the_model(t *testing.T) {
	t.Parallel()
	refuse := func(out http.ResponseWriter, _ *http.Request) { http.Error(out, "No such order.", http.StatusNotFound) }
	w := script(t, "lookup {\"id\": \"1\"}", "It cannot be found.")
	w.shop.answer = refuse
	if r := w.ask(t, "", ""); r.State != flow.StepSucceeded || r.Outputs["text"] != "It cannot be found." || r.rows["n.1.1"].State != flow.StepFailed {
		t.Fatalf("%s %v", r.State, r.Error)
	}
	has(t, w.results(t, 2)[0], "The tool failed (http_failed): ", "404")
	w = script(t, "lookup {\"id\": \"1\"}", "It cannot be found.")
	w.shop.answer = refuse
	if r := w.ask(t, "", `, "on_error": "fail"`); r.State != flow.StepFailed || r.Error.Code != flow.CodeToolFailed || !strings.Contains(r.Error.Message, "404") {
		t.Errorf("%s %v", r.State, r.Error)
	}
}

// TestAgent_does_not_repeat_a_write_without_an_answer (R2).
func TestAgent_does_not_repeat_a_write_without_an_answer(t *testing.T) {
	t.Parallel()
	w := script(t, "refund {\"id\": \"1\"}", "I do not know whether it was refunded.")
	w.shop.answer = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	r := w.execute(t, `
		n agent {"model": "fake/m", "prompt": "Refund order 1."}
		refund http_request {"method": "POST", "url": "SHOP/refunds/{{id}}"} {"tool": {"description": "Refunds an order."}, "retry": {"attempts": 3}}
		refund.tool -> n.tools`, nil)
	step := r.rows["n.1.1"]
	if r.State != flow.StepSucceeded || len(w.shop.paths) != 1 || w.shop.keys[0] != "run_1:n.1.1" || step.State != flow.StepFailed || step.Error.Code != flow.CodeOutcomeUnknown {
		t.Fatalf("%s %v: %q with the keys %q, step %v", r.State, r.Error, w.shop.paths, w.shop.keys, step.Error)
	}
	has(t, w.results(t, 2)[0], "The outcome is unknown")
}

func TestAgent_binds_ports_that_the_model_does_not_see(t *testing.T) {
	t.Parallel()
	w := script(t, "orders {\"status\": \"open\", \"customer\": \"c-2\"}", "orders {\"status\": \"open\"}", "One.")
	r := w.execute(t, `
		who input {"name": "customer"}
		n agent {"model": "fake/m", "prompt": "How many?"}
		orders http_request {"url": "SHOP/{{customer}}/{{status}}"} {"tool": {"description": "Lists orders.", "params": {"status": {"description": "open or closed", "schema": {"type": "string", "enum": ["open", "closed"]}}}}}
		who.value -> orders.customer
		orders.tool -> n.tools`, map[string]any{"customer": "c-1"})
	if r.State != flow.StepSucceeded {
		t.Fatalf("%v", r.Error)
	}
	has(t, w.results(t, 3)[0], "The arguments are invalid") // a bound port is no parameter
	has(t, w.results(t, 3)[1], "found /c-1/open")
	if body := string(w.model.Requests()[0].Raw); strings.Contains(body, "customer") || !strings.Contains(body, "open or closed") {
		t.Errorf("request: %s", body)
	}
}

func TestAgent_does_not_offer_a_tool_without_its_bound_value(t *testing.T) {
	t.Parallel()
	w := script(t, "Done.")
	r := w.execute(t, `
		who input {"name": "customer"}
		known condition {"expression": "value == \"c-2\""}
		n agent {"model": "fake/m", "prompt": "How many?"}
		orders http_request {"url": "SHOP/{{customer}}/{{status}}"} {"tool": {"description": "Lists orders."}}
		who.value -> known.value
		known.true -> orders.customer
		orders.tool -> n.tools`, map[string]any{"customer": "c-1"})
	if r.State != flow.StepSucceeded || len(w.model.Requests()[0].Tools) != 0 {
		t.Errorf("%s %v, request %s", r.State, r.Error, w.model.Requests()[0].Raw)
	}
}

func TestAgent_retries_and_falls_back_like_chat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(r *scripted.Request) string {
		if r.Model == "m" {
			return "!503"
		}
		return "Done."
	})
	r := w.ask(t, `, "fallback": ["fake/other"]`, "")
	if r.State != flow.StepSucceeded || r.Outputs["text"] != "Done." {
		t.Fatalf("%s %v", r.State, r.Error)
	}
	if tries := r.rows["n.1"].Attempts; len(tries) != 2 || r.Attempt != 1 {
		t.Errorf("attempts %+v", tries)
	}
}

func TestAgent_answers_by_a_schema(t *testing.T) {
	t.Parallel()
	w := script(t, "lookup {\"id\": \"1\"}", `{"state": "sent", "days": 2}`)
	r := w.ask(t, `, "schema": {"type": "object", "properties": {"state": {"type": "string"}, "days": {"type": "number"}}, "required": ["state"]}`, "")
	if r.State != flow.StepSucceeded || r.Outputs["state"] != "sent" || flow.Text(r.Outputs["days"]) != "2" || value.Get(r.Outputs["json"], "state") != "sent" {
		t.Errorf("%s %v %v", r.State, r.Error, r.Outputs)
	}
}

// TestAgent_reuses_recorded_turns: a rerun of a failed agent continues where it failed.
func TestAgent_reuses_recorded_turns(t *testing.T) {
	t.Parallel()
	down := true
	w := newWorld(t, func(r *scripted.Request) string {
		switch {
		case r.Turn < 2:
			return fmt.Sprintf(`lookup {"id": "%d"}`, r.Turn+1)
		case down:
			return "!401"
		}
		return "Done."
	})
	failed := w.ask(t, "", "")
	if failed.State != flow.StepFailed || len(w.shop.paths) != 2 {
		t.Fatalf("%s %v", failed.State, failed.Error)
	}
	down = false
	r := w.execute(t, `
		n agent {"model": "fake/m", "prompt": "Where is it?"}
		lookup http_request {"url": "SHOP/orders/{{id}}"} {"tool": {"description": "Finds an order."}}
		lookup.tool -> n.tools`, nil, failed)
	if r.State != flow.StepSucceeded || len(w.shop.paths) != 2 || len(w.model.Requests()) != 4 {
		t.Errorf("%s %v: %d calls, %d requests, %s", r.State, r.Error, len(w.shop.paths), len(w.model.Requests()), r.paths())
	}
	if changed := w.execute(t, `
		n agent {"model": "fake/m", "prompt": "Where is it?"}
		lookup http_request {"url": "SHOP/orders/{{id}}"} {"tool": {"description": "Finds orders by ID."}}
		lookup.tool -> n.tools`, nil, failed); changed.rows["n.1"].State != flow.StepSucceeded || len(w.shop.paths) != 4 {
		t.Errorf("with another tool: %d calls, %s", len(w.shop.paths), changed.paths())
	}
}

// TestValidate_tools: each refusal is one sentence.
func TestValidate_tools(t *testing.T) {
	t.Parallel()
	w := script(t, "Done.")
	for _, c := range []struct{ name, lines, want string }{
		{"a description is required", `lookup http_request {"url": "SHOP/{{id}}"} {"tool": {}}
			lookup.tool -> n.tools`, "A description is required"},
		{"the kind must be able to", `lookup delay {"duration": "1s"} {"tool": {"description": "x"}}
			lookup.tool -> n.tools`, "Delay cannot be a tool."},
		{"without the setting", `lookup http_request {"url": "SHOP"}
			lookup.tool -> n.tools`, "lookup is not a tool yet."},
		{"without an agent", `lookup http_request {"url": "SHOP"} {"tool": {"description": "x"}}`, "lookup is a tool of no agent."},
		{"with results for others", `lookup http_request {"url": "SHOP"} {"tool": {"description": "x"}}
			lookup.tool -> n.tools
			show output {"name": "o"}
			lookup.body -> show.value`, "lookup is a tool, so only an agent gets its results."},
		{"names are unique", `lookup http_request {"url": "SHOP"} {"tool": {"description": "x", "name": "find"}}
			other http_request {"url": "SHOP"} {"tool": {"description": "x", "name": "find"}}
			lookup.tool -> n.tools
			other.tool -> n.tools`, `has the name "find" already`},
		{"names are simple", `lookup http_request {"url": "SHOP"} {"tool": {"description": "x", "name": "Find it"}}
			lookup.tool -> n.tools`, "The name of a tool has 1 to 48"},
		{"a reserved name", `lookup http_request {"url": "SHOP"} {"tool": {"description": "x", "name": "read_result"}}
			lookup.tool -> n.tools`, "a tool that every agent has"},
		{"a parameter with a value", `lookup http_request {"url": "SHOP"} {"tool": {"description": "x", "params": {"url": {}}}}
			lookup.tool -> n.tools`, "URL has a value, so the model cannot fill it"},
		{"an unknown parameter", `lookup http_request {"url": "SHOP"} {"tool": {"description": "x", "params": {"nothing": {}}}}
			lookup.tool -> n.tools`, `HTTP request has no input "nothing".`},
		{"a parameter that selects a model", `lookup chat {"prompt": "{{q}}"} {"tool": {"description": "x", "params": {"model": {}}}}
			lookup.tool -> n.tools`, "A model cannot fill Model."},
		{"a host that the model chooses", `lookup http_request {"url": "https://{{host}}/", "headers": {"Authorization": {"credential": "crm"}}} {"tool": {"description": "x"}}
			lookup.tool -> n.tools`, `The model would choose the host that gets the credential "crm".`},
		{"a bound value from the agent", `lookup http_request {"url": "SHOP/{{id}}"} {"tool": {"description": "x"}}
			lookup.tool -> n.tools
			n.text -> lookup.id`, "form a loop"},
		{"another value than a tool", `who input {"name": "x"}
			who.value -> n.tools`, "type mismatch"},
		{"an agent as a tool", `lookup agent {"prompt": "x"} {"tool": {"description": "x"}}
			lookup.tool -> n.tools`, "Agent cannot be a tool."},
		{"an error branch", `lookup http_request {"url": "SHOP"} {"tool": {"description": "x"}, "on_error": "route"}
			lookup.tool -> n.tools`, "A tool has no error branch."},
		{"large schemas", fmt.Sprintf(`lookup http_request {"url": "SHOP/{{id}}"} {"tool": {"description": "x", "params": {"id": {"schema": {"description": %q}}}}}
			lookup.tool -> n.tools`, strings.Repeat("long ", 7000)), "the limit is 32 KiB"},
	} {
		var texts []string
		for _, p := range document.Validate(w.document(t, "n agent {\"prompt\": \"x\"}\n"+c.lines), w.kinds) {
			texts = append(texts, p.Detail)
		}
		if len(texts) != 1 || !strings.Contains(texts[0], c.want) {
			t.Errorf("%s: got %q, want %q", c.name, texts, c.want)
		}
	}
}

func TestTool_setting_survives_the_document(t *testing.T) {
	t.Parallel()
	w := script(t, "Done.")
	d := w.document(t, `
		n agent {"prompt": "x"}
		lookup http_request {"url": "SHOP/{{id}}/{{part}}"} {"tool": {"name": "find", "description": "Finds.", "params": {"part": {"description": "A part."}, "id": {"schema": {"type": "string", "minLength": 1}}}, "effect": "read", "on_crash": "repeat", "on_error": "fail", "max_calls": 3}}
		lookup.tool -> n.tools`)
	again, problems := document.ParseDocument(d.Encode())
	if len(problems) > 0 || string(again.Encode()) != string(d.Encode()) {
		t.Fatalf("%v\n%s", problems, again.Encode())
	}
	has(t, string(d.Encode()), `"part": {`, `"max_calls": 3`)
	changed := w.document(t, string(`n agent {"prompt": "x"}`))
	if diff := document.Compare(changed, d, w.kinds).Sentences(); len(diff) != 2 {
		t.Errorf("diff: %q", diff)
	}
	d.Nodes[1].Tool.Name = "search"
	if diff := document.Compare(again, d, w.kinds).Sentences(); len(diff) != 1 || diff[0] != "lookup: tool edited." {
		t.Errorf("diff: %q", diff)
	}
}
