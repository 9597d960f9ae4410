package api

import (
	"context"
	"sync"

	"sluice/flow"
)

// gates let a test decide when a hold node continues, and what text a speak node emits.
type gates struct {
	mu     sync.Mutex
	opened map[string]chan struct{}
	voices map[string]chan string
}

// voice is the text that a speak node emits; closing it ends the step.
func (g *gates) voice(name string) chan string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.voices == nil {
		g.voices = map[string]chan string{}
	}
	if g.voices[name] == nil {
		g.voices[name] = make(chan string)
	}
	return g.voices[name]
}

func (g *gates) gate(name string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened == nil {
		g.opened = map[string]chan struct{}{}
	}
	if g.opened[name] == nil {
		g.opened[name] = make(chan struct{})
	}
	return g.opened[name]
}

// open continues every run whose hold node got this text.
func (g *gates) open(name string) { close(g.gate(name)) }

func typed(name string, t flow.FieldType) flow.Field {
	return flow.Field{Name: name, Type: t, Typed: true}
}

func pass(_ context.Context, in *flow.In) (flow.Out, error) {
	return flow.Out{Outputs: map[string]any{"value": in.Ports["value"]}}, nil
}

// newKinds returns minimal kinds for tests.
func newKinds(g *gates) *flow.Registry {
	value := []flow.Port{{Name: "value", Type: flow.TypeAny, Required: true}}
	out := []flow.Port{{Name: "value", Type: flow.TypeAny}}
	return flow.NewRegistry(
		flow.Kind{Name: "input", Title: "Input", Group: "Test", Summary: "Takes a value.", Role: flow.RoleInput, Run: pass, Outputs: out,
			Fields: []flow.Field{
				{Name: "name", Type: flow.FieldText, Typed: true, Required: true}, typed("type", flow.FieldValueType),
				typed("default", flow.FieldJSON), typed("description", flow.FieldText), typed("example", flow.FieldJSON),
				typed("min", flow.FieldNumber), typed("max", flow.FieldNumber), typed("pattern", flow.FieldText), typed("enum", flow.FieldList),
			}},
		flow.Kind{Name: "output", Title: "Output", Group: "Test", Summary: "Gives a value.", Role: flow.RoleOutput, Run: pass, Inputs: value, Outputs: out,
			Fields: []flow.Field{{Name: "name", Type: flow.FieldText, Typed: true, Required: true}}},
		flow.Kind{Name: "think", Title: "Think", Group: "Test", Summary: "Costs a little.", Class: flow.Outside, Inputs: value, Outputs: out, Run: think},
		flow.Kind{Name: "hold", Title: "Hold", Group: "Test", Summary: "Waits for the test.", Class: flow.Compute, Inputs: value, Outputs: out, Run: g.hold},
		flow.Kind{Name: "speak", Title: "Speak", Group: "Test", Summary: "Says what the test wants.", Class: flow.Outside, Inputs: value, Outputs: out, Run: g.speak},
		flow.Kind{Name: "fail", Title: "Fail", Group: "Test", Summary: "Fails.", Class: flow.Compute, Inputs: value, Outputs: out, Run: fail},
		flow.Kind{Name: "note", Title: "Note", Group: "Test", Summary: "Lies on the canvas.", Role: flow.RoleCanvas,
			Fields: []flow.Field{typed("text", flow.FieldArea)}},
	)
}

func think(ctx context.Context, in *flow.In) (flow.Out, error) {
	out, err := pass(ctx, in)
	out.Usage = flow.Usage{InputTokens: 120, OutputTokens: 40, CostNanoUSD: 1_300_000}
	return out, err
}

func (g *gates) hold(ctx context.Context, in *flow.In) (flow.Out, error) {
	select {
	case <-g.gate(flow.Text(in.Ports["value"])):
		return pass(ctx, in)
	case <-ctx.Done():
		return flow.Out{}, ctx.Err()
	}
}

// speak emits the text of its voice until that is closed; "!" fails the attempt.
func (g *gates) speak(ctx context.Context, in *flow.In) (flow.Out, error) {
	voice := g.voice(flow.Text(in.Ports["value"]))
	for {
		select {
		case text, more := <-voice:
			switch {
			case !more:
				return pass(ctx, in)
			case text == "!":
				return flow.Out{}, &flow.Error{Code: flow.CodeProviderRejected, Message: "Not now.", Retryable: true}
			}
			in.Emit(text)
		case <-ctx.Done():
			return flow.Out{}, ctx.Err()
		}
	}
}

func fail(_ context.Context, in *flow.In) (flow.Out, error) {
	return flow.Out{}, &flow.Error{Code: flow.CodeProviderRejected, Message: "The model refused the prompt.", Retryable: false}
}
