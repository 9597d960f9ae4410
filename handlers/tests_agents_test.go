package handlers_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
	"sluice/providers/scripted"
)

// supportFlow has an agent with a tool that reads, one that is another flow, and one that posts after a person allows it.
const supportFlow = `{"schema":"sluice.flow/v1","name":"Support","nodes":[
	{"id":"question","kind":"input","config":{"name":"question","type":"text"}},
	{"id":"agent","kind":"agent","config":{"model":"fake/m","prompt":"{{question}}"}},
	{"id":"find","kind":"http_request","tool":{"description":"Finds an order.","params":{"number":{"description":"Its number","schema":{"type":"string"}}}},"config":{"method":"GET","url":"%[1]s/orders?n={{number}}"}},
	{"id":"note","kind":"subflow","tool":{"description":"Looks a note up.","effect":"read"},"config":{"flow":"%[2]s"}},
	{"id":"refund","kind":"http_request","tool":{"description":"Refunds.","params":{"amount":{"description":"In dollars","schema":{"type":"number"}}},"effect":"write","approval":"always","editable":["amount"]},"config":{"method":"POST","url":"%[1]s/refund","body":"{{amount}}"}},
	{"id":"answer","kind":"output","config":{"name":"answer"}},
	{"id":"calls","kind":"output","config":{"name":"calls"}}],
	"edges":[{"from":"question.value","to":"agent.question"},{"from":"find.tool","to":"agent.tools"},{"from":"note.tool","to":"agent.tools"},{"from":"refund.tool","to":"agent.tools"},
	{"from":"agent.text","to":"answer.value"},{"from":"agent.calls","to":"calls.value"}]}`

// supportModel looks an order and a note up, refunds, and repeats what it was told.
func supportModel(asked *tally) func(*scripted.Request) scripted.Answer {
	return func(r *scripted.Request) scripted.Answer {
		asked.add("model")
		switch len(r.Calls) % 3 {
		case 0:
			if len(r.Calls) == 0 {
				return scripted.Answer{Calls: []scripted.Call{{ID: "c1", Name: "find", Arguments: `{"number": "17"}`}, {ID: "c2", Name: "note", Arguments: `{"word": "x"}`}}}
			}
		case 2:
			return scripted.Answer{Text: "One moment.", Calls: []scripted.Call{{ID: "c3", Name: "refund", Arguments: `{"amount": 12.5}`}}}
		}
		return scripted.Answer{Text: fmt.Sprintf("%s: order %t, note %t, refund %q", r.User[:1], strings.Contains(r.Given["c1"], "/orders?n=17"), strings.Contains(r.Given["c2"], "/item"), r.Given["c3"])}
	}
}

// TestTests_replay_agents records the turns and calls of an agent, and replays them. Its writes have stubs, and a case answers its questions.
func TestTests_replay_agents(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		world := newOutsideWorld(t)
		var asked tally
		scriptedModel(t, h, supportModel(&asked))
		below := h.PublishedFlow(fmt.Sprintf(`{"schema":"sluice.flow/v1","name":"Note","nodes":[{"id":"in","kind":"input","config":{"name":"word","type":"text"}},{"id":"get","kind":"http_request","config":{"method":"GET","url":"%s/item?word={{word}}"}},{"id":"out","kind":"output","config":{"name":"note"}}],"edges":[{"from":"in.value","to":"get.word"},{"from":"get.body","to":"out.value"}]}`, world.URL))
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(fmt.Sprintf(supportFlow, world.URL, below))}
		c.must(200, "PUT", "/cases/one", `{"inputs":{"question":"A?"},"answers":{"refund":{"decision":"approved","values":{"amount":10}}},"stubs":{"refund":{"outputs":{"status":200,"body":"refunded"}}},
			"checks":[{"output":"answer","contains":["A: order true, note true","refunded"]},{"steps":{"find":"succeeded","note":"succeeded","refund":"succeeded","agent":"succeeded"}}]}`)
		c.must(200, "PUT", "/cases/rejected", `{"inputs":{"question":"B?"},"answers":{"refund":{"decision":"rejected","comment":"too much"}},"checks":[{"output":"answer","contains":["B: order true","too much"]},{"steps":{"refund":"skipped"}}]}`)
		c.must(200, "PUT", "/cases/unanswered", `{"inputs":{"question":"C?"}}`)
		c.must(200, "PUT", "/cases/unstubbed", `{"inputs":{"question":"D?"},"answers":{"refund":{"decision":"approved"}}}`)
		if r := c.test(`{"mode":"replay"}`); r.Candidates[0].Stale != 4 || asked.take() != nil || world.gets.Load() != 0 {
			t.Fatalf("without recordings: %+v", r)
		}
		r := c.test(`{"mode":"fill","concurrency":1}`)
		if r.Candidates[0].Passed != 2 || r.Candidates[0].Stale != 2 {
			t.Fatalf("filled: %+v", r)
		}
		for i, want := range map[int]string{2: "The case has no answer for the approval refund", 3: "refund has no recorded result. It may change something"} {
			if got := r.Cases[i].Results[0].Message; !strings.Contains(got, want) {
				t.Errorf("%s: %q", r.Cases[i].ID, got)
			}
		}
		filled := world.gets.Load() // the note once, because it is the same in all cases, and the order once for each conversation
		if n := asked.take()["model"]; n < 10 || world.posts.Load() != 0 || filled != 5 {
			t.Fatalf("%d questions, %d requests, %d writes", n, filled, world.posts.Load())
		}
		for range 2 {
			if again := c.test(`{"mode":"replay","cases":["one","rejected"]}`); again.State != "passed" || !again.Candidates[0].Recorded {
				t.Fatalf("replayed: %+v", again)
			}
		}
		c.must(200, "PUT", "/cases/one", `{"inputs":{"question":"A?"},"answers":{"refund":{"decision":"approved","values":{"amount":10}}},"stubs":{"refund":{"outputs":{"status":200,"body":"refunded"}}},"checks":[{"steps":{"find":"skipped"}}]}`)
		if r := c.test(`{"mode":"replay","cases":["one"]}`); r.State != "failed" || r.Verdicts[0].Message != "steps: find ended as succeeded" {
			t.Errorf("a check that a tool was not called, which was: %+v", r)
		}
		if n := asked.take(); n != nil || world.gets.Load() != filled {
			t.Errorf("replays asked %v", n)
		}
	})
}

// TestChecks_of_steps_that_the_flow_does_not_have fails them: nothing happens in a step that does not exist, so such a check would always pass.
func TestChecks_of_steps_that_the_flow_does_not_have(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(echoFlow)}
	c.must(200, "PUT", "/cases/a-step", `{"inputs":{"word":"x"},"checks":[{"steps":{"wrods":"skipped"}}]}`)
	c.must(200, "PUT", "/cases/a-webhook", `{"inputs":{"word":"x"},"checks":[{"sends":{"hoook":null}}]}`)
	c.must(200, "PUT", "/cases/honest", `{"inputs":{"word":"x"},"checks":[{"steps":{"words":"succeeded"}},{"sends":{"words":null}}]}`)
	r := c.test(`{"mode":"replay"}`)
	if r.Candidates[0].Passed != 1 || r.Candidates[0].Failed != 2 {
		t.Errorf("%+v", r)
	}
	for i, want := range []string{"steps: the flow has no step wrods", "sends: the flow has no step hoook", ""} {
		if got := r.Cases[i].Results[0].Message; got != want {
			t.Errorf("%s: %q, wanted %q", r.Cases[i].ID, got, want)
		}
	}
	// Checks that can never fail are refused.
	for _, check := range []string{`{"output":"answer","contains":""}`, `{"output":"answer","matches":".*"}`, `{"output":"answer","schema":{}}`, `{"expression":"true || false"}`, `{"expression":"size(inputs.word) == 1"}`, `{"limits":{}}`} {
		if raw := c.must(422, "PUT", "/cases/open", `{"inputs":{"word":"x"},"checks":[`+check+`]}`); !strings.Contains(raw, `"case_invalid"`) || !strings.Contains(raw, `"/checks/0/`) {
			t.Errorf("%s: %s", check, raw)
		}
	}
	c.must(200, "PUT", "/cases/open", `{"inputs":{"word":"x"},"checks":[{"expression":"outputs.answer == 'x'"}]}`)
}

// TestCases_keep_what_an_agent_remembers makes a case of a run that continues another, and replays it.
func TestCases_keep_what_an_agent_remembers(t *testing.T) {
	onBothStores(t, func(t *testing.T, h *webtest.Env) {
		var asked tally
		scriptedModel(t, h, func(r *scripted.Request) scripted.Answer {
			asked.add("model")
			return scripted.Answer{Text: fmt.Sprintf("I know %t", strings.Contains(string(r.Raw), "My name is Ada"))}
		})
		c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(`{"schema":"sluice.flow/v1","name":"Talk","nodes":[
			{"id":"question","kind":"input","config":{"name":"question","type":"text"}},{"id":"agent","kind":"agent","config":{"model":"fake/m","prompt":"{{question}}"}},{"id":"answer","kind":"output","config":{"name":"answer"}}],
			"edges":[{"from":"question.value","to":"agent.question"},{"from":"agent.text","to":"answer.value"}]}`)}
		first := c.run(`{"question":"My name is Ada"}`)
		if run := c.await(first); run.State != flow.RunSucceeded {
			t.Fatalf("%+v", run.Error)
		}
		second := c.run(fmt.Sprintf(`{"question":"Who am I?","run_options":{"continue":%q}}`, first))
		if run := c.await(second); run.State != flow.RunSucceeded || run.Outputs.Get("answer") != "I know true" {
			t.Fatalf("%+v %+v", run.Error, run.Outputs)
		}
		asked.take()
		made := c.fromRuns(fmt.Sprintf(`{"runs":[%q]}`, second))
		text, _ := json.Marshal(made[0].Case)
		if !strings.Contains(string(text), `"memory":{"agent":`) {
			t.Fatalf("the case: %s", text)
		}
		if r := c.test(`{"mode":"replay"}`); r.State != "passed" || asked.take() != nil {
			t.Errorf("%+v", r)
		}
		// Without its memory, the agent says something else.
		c.must(200, "PUT", "/cases/"+*made[0].ID, `{"inputs":{"question":"Who am I?"},"checks":[{"output":"answer","equals":"I know false"}]}`)
		if r := c.test(`{"mode":"fill"}`); r.State != "passed" || asked.take()["model"] != 1 {
			t.Errorf("without memory: %+v", r)
		}
	})
}
