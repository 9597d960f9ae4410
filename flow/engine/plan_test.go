package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/flowtest"
)

// planCase is a flow with the expected result of its run.
type planCase struct {
	name, flow string
	states     string
	outputs    string
	code       flow.Code
	sent       map[string]string
}

// branches has a gate that takes the branch yes, with node a on it and node b on the other
// branch.
const branches = `
	x input {"name": "x"}
	g gate {"take": "yes"}
	a note_down
	b note_down
	x.value -> g.value
	g.yes -> a.values
	g.no -> b.values
	`

// twoOutputs adds an output to each branch.
const twoOutputs = branches + `
	oa output {"name": "a"}
	ob output {"name": "b"}
	a.text -> oa.value
	b.text -> ob.value
	`

var skipCases = []planCase{
	{
		name:   "a branch not taken is skipped, and what depends only on it",
		flow:   twoOutputs,
		states: "x succeeded, g succeeded, a succeeded, b skipped, oa succeeded, ob skipped", outputs: `{"a":"a-b01e8d79"}`,
	}, {
		name: "first_of takes the branch that was taken",
		flow: branches + `f first
			o output {"name": "o"}
			b.text -> f.values
			a.text -> f.values
			f.value -> o.value`,
		states: "x succeeded, g succeeded, a succeeded, b skipped, f succeeded, o succeeded", outputs: `{"o":"a-b01e8d79"}`,
	}, {
		name: "first_of is skipped if all are",
		flow: branches + `f first
			b.text -> f.values
			g.no -> f.values`,
		states: "x succeeded, g succeeded, a succeeded, b skipped, f skipped",
	}, {
		name: "first_of takes the first value in edge order, not in time",
		flow: `slow call {"takes_s": 5}
			fast call {"takes_s": 1}
			f first
			o output {"name": "o"}
			slow.text -> f.values
			fast.text -> f.values
			f.value -> o.value`,
		states: "slow succeeded, fast succeeded, f succeeded, o succeeded", outputs: `{"o":"slow-38dc1501"}`,
	}, {
		name: "a required port fed by a skipped branch skips the node",
		flow: branches + `t fill {"template": "{{p}} {{q}}"}
			a.text -> t.p
			b.text -> t.q`,
		states: "x succeeded, g succeeded, a succeeded, b skipped, t skipped",
	}, {
		name: "an optional port falls back to the typed value",
		flow: branches + `c fill {"template": "{{p}} small", "style": "loud"}
			o output {"name": "o"}
			a.text -> c.p
			b.text -> c.style
			c.text -> o.value`,
		states: "x succeeded, g succeeded, a succeeded, b skipped, c succeeded, o succeeded", outputs: `{"o":"a-b01e8d79 small"}`,
	}, {
		name: "a list port keeps the order of its edges and drops skipped ones",
		flow: branches + `l note_down
			slow call {"takes_s": 3}
			slow.text -> l.values
			b.text -> l.values
			x.value -> l.values
			a.text -> l.values`,
		states: "x succeeded, slow succeeded, g succeeded, a succeeded, b skipped, l succeeded",
	}, {
		name: "a disabled node counts as skipped",
		flow: `a call {} {"disabled": true}
			b note_down
			o output {"name": "o"}
			p output {"name": "p"} {"disabled": true}
			a.text -> b.values
			b.text -> o.value`,
		states: "a skipped, p skipped, b skipped, o skipped", outputs: `{}`,
	}, {
		name:   "a branch whose port has no value is dead",
		flow:   "x input {\"name\": \"x\"}\n g gate {\"take\": \"no\"}\n a call\n x.value -> g.value\n g.yes -> a.values",
		states: "x succeeded, g succeeded, a skipped",
	},
}

var errorCases = []planCase{
	{
		name: "fail is the default: the run fails with the node's code",
		flow: `a flaky
			b note_down
			a.text -> b.values`,
		states: "a failed", code: flow.CodeProviderAuth,
	}, {
		name: "steps that a failed run never reached are not recorded, whatever their class",
		flow: `x input {"name": "x"}
			a broken {"name": "o"}
			b note_down
			x.value -> a.value
			a.value -> b.values`,
		states: "x succeeded, a failed", code: flow.CodeExpressionFailed,
	}, {
		name: "route: the error port has the error, the other ports are dead",
		flow: `a flaky {} {"on_error": "route"}
			b note_down
			o output {"name": "o"}
			a.text -> b.values
			a.error -> o.value`,
		states: "a failed, b skipped, o succeeded", outputs: `{"o":{"code":"provider_auth","message":"refused","node":"a"}}`,
	}, {
		name: "continue: the configured values replace the outputs",
		flow: `a flaky {} {"on_error": {"continue": {"text": "instead"}}}
			o output {"name": "o"}
			a.text -> o.value`,
		states: "a failed, o succeeded", outputs: `{"o":"instead"}`,
	}, {
		name: "continue without a value leaves the port out",
		flow: `a flaky {} {"on_error": {"continue": {}}}
			o output {"name": "o"}
			a.text -> o.value`,
		states: "a failed, o skipped", outputs: `{}`,
	}, {
		name: "a wrong type names node and port, wanted and got",
		flow: `x input {"name": "list", "type": "list"}
			a call
			x.value -> a.text`,
		states: "x succeeded, a failed", code: flow.CodeInputInvalid,
	}, {
		name: "a wrong type can be routed",
		flow: `x input {"name": "list", "type": "list"}
			a call {} {"on_error": "route"}
			o output {"name": "o"}
			x.value -> a.text
			a.error -> o.value`,
		states: "x succeeded, a failed, o succeeded", outputs: `{"o":{"code":"input_invalid","message":"a.text: wanted text, got list.","node":"a"}}`,
	}, {
		name: "a step without edges out may fail too",
		flow: `x input {"name": "x"}
			a flaky {} {"on_error": {"continue": {"text": "t"}}}`,
		states: "x succeeded, a failed", outputs: `{}`,
	},
}

var webhookCases = []planCase{
	{
		name:   "a skipped output is left out",
		flow:   twoOutputs + `h hook {"url": "https://example.com"}`,
		states: "x succeeded, g succeeded, a succeeded, b skipped, oa succeeded, ob skipped, h succeeded",
		sent:   map[string]string{"h": `{"a":"a-b01e8d79"}`},
	}, {
		name:   "only the chosen outputs are sent",
		flow:   twoOutputs + "ox output {\"name\": \"x\"}\n x.value -> ox.value\n h hook {\"url\": \"https://example.com\", \"outputs\": [\"x\"]}",
		states: "x succeeded, g succeeded, ox succeeded, a succeeded, b skipped, h succeeded, oa succeeded, ob skipped",
		sent:   map[string]string{"h": `{"x":"yes"}`},
	}, {
		name:   "skipped if all chosen outputs are",
		flow:   twoOutputs + `h hook {"url": "https://example.com", "outputs": ["b"]}`,
		states: "x succeeded, g succeeded, a succeeded, b skipped, oa succeeded, ob skipped, h skipped",
	}, {
		name:   "skipped if all chosen outputs are, although another edge brings a value",
		flow:   twoOutputs + "h hook {\"outputs\": [\"b\"]}\n a.text -> h.url",
		states: "x succeeded, g succeeded, a succeeded, b skipped, oa succeeded, ob skipped, h skipped",
	}, {
		name:   "skipped if its URL comes from a branch not taken",
		flow:   twoOutputs + "h hook {\"outputs\": [\"a\"]}\n b.text -> h.url",
		states: "x succeeded, g succeeded, a succeeded, b skipped, oa succeeded, ob skipped, h skipped",
	}, {
		name:   "skipped if one output cannot be produced",
		flow:   twoOutputs + "bad broken {\"name\": \"bad\"} {\"on_error\": \"route\"}\n x.value -> bad.value\n h hook {\"url\": \"https://example.com\"}",
		states: "x succeeded, g succeeded, bad failed, a succeeded, b skipped, oa succeeded, ob skipped, h skipped",
	}, {
		name: "fires although the run fails later",
		flow: `x input {"name": "x"}
			o output {"name": "o"}
			x.value -> o.value
			h hook {"url": "https://example.com"}
			slow call {"takes_s": 5}
			bad flaky
			slow.text -> bad.values`,
		states: "x succeeded, slow succeeded, o succeeded, bad failed, h succeeded", code: flow.CodeProviderAuth, outputs: `{"o":"yes"}`,
		sent: map[string]string{"h": `{"o":"yes"}`},
	},
}

func TestPlan_skips_dead_branches(t *testing.T) { runPlanCases(t, skipCases) }
func TestPlan_handles_errors(t *testing.T)      { runPlanCases(t, errorCases) }
func TestPlan_sends_webhooks(t *testing.T)      { runPlanCases(t, webhookCases) }

func runPlanCases(t *testing.T, cases []planCase) {
	t.Parallel()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
				s := newPlanFixture(t, tt.flow)
				run := s.finish()
				s.wantStates(tt.states)
				if codeOf(run.Error) != tt.code || (run.State == flow.RunSucceeded) != (tt.code == "") {
					t.Errorf("the run is %s: %v", run.State, run.Error)
				}
				if tt.outputs != "" {
					wantJSON(t, run.Outputs, tt.outputs)
				}
				wantJSON(t, s.disk.deliveries(), string(flow.EncodeJSON(orEmpty(tt.sent))))
			})
		})
	}
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// newPlanFixture returns a fixture with a node kind and an output kind that always fail.
func newPlanFixture(t *testing.T, lines string) *fixture {
	broken := flowtest.OutputKind
	broken.Name = "broken"
	broken.Run = func(context.Context, *flow.In) (flow.Out, error) {
		return flow.Out{}, flow.Errorf(flow.CodeExpressionFailed, "broken")
	}
	s := newFixture(t, lines, flaky(1000, flow.Errorf(flow.CodeProviderAuth, "refused")), broken)
	s.disk.first.Inputs.Set("x", "yes")
	s.disk.first.Inputs.Set("list", []any{"a"})
	return s
}

func TestPlan_keeps_edge_order_in_list_ports(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		s := newPlanFixture(t, skipCases[6].flow)
		s.finish()
		wantJSON(t, s.step("l").Input, `{"text":"none","values":["slow-38dc1501","yes","a-b01e8d79"]}`)
		wantJSON(t, s.step("a").Input, `{"text":"none","values":["yes"]}`)
	})
}

func TestPlan_resolves_typed_and_default_values(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		s := newPlanFixture(t, `
			x input {"name": "x"}
			bound call {"text": "typed"}
			typed call {"text": "typed"}
			plain call
			x.value -> bound.text`)
		s.finish()
		for id, want := range map[string]string{"bound": `{"text":"yes"}`, "typed": `{"text":"typed"}`, "plain": `{"text":"none"}`} {
			wantJSON(t, s.step(id).Input, want)
		}
	})
}

// TestPlan_keeps_order_of_outputs has an output that is known before those declared above it.
func TestPlan_keeps_order_of_outputs(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		s := newFixture(t, `
			late call {"takes_s": 9}
			oz output {"name": "z"}
			oa output {"name": "a"}
			om output {"name": "m"}
			early call {"takes_s": 1}
			late.text -> oz.value
			early.text -> oa.value
			late.text -> om.value`)
		run := s.finish()
		s.wantEnd(flow.RunSucceeded, "")
		if got := strings.Join(run.Outputs.Names(), " "); got != "z a m" {
			t.Errorf("the order is %s", got)
		}
	})
}
