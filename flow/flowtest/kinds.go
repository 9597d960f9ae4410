package flowtest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/value"
)

// Kinds are minimal node kinds of every class, from which tests build flows of any shape
// without the real kinds.
var Kinds = flow.NewRegistry(
	InputKind, OutputKind,
	WorkKind("note_down", flow.Inline), WorkKind("think", flow.Compute), WorkKind("call", flow.Outside),
	gateKind("gate", flow.Inline), gateKind("ask", flow.Outside),
	firstKind("first", flow.Inline), firstKind("race", flow.Compute),
	hookKind("hook", flow.Outside), hookKind("tell", flow.Inline),
	templateKind, secretKind, jobKind, spawnKind, awaitKind, loopKind,
	flow.Kind{Name: "sticker", Title: "Sticker", Group: "Test", Summary: "Lies on the canvas.", Role: flow.RoleCanvas,
		Fields: []flow.Field{{Name: "text", Type: flow.FieldArea, Typed: true}}},
)

// InputKind is the kind of inputs. Its fields are those that package contract reads of
// an input, so that tests of documents need no real kinds.
var InputKind = flow.Kind{
	Name: "input", Title: "Input", Group: "Test", Summary: "Takes a value.", Role: flow.RoleInput,
	Fields: []flow.Field{
		{Name: "name", Type: flow.FieldText, Typed: true, Required: true}, {Name: "type", Type: flow.FieldValueType, Typed: true},
		{Name: "default", Type: flow.FieldJSON, Typed: true}, {Name: "description", Type: flow.FieldText, Typed: true},
		{Name: "example", Type: flow.FieldJSON, Typed: true}, {Name: "min", Type: flow.FieldNumber, Typed: true},
		{Name: "max", Type: flow.FieldNumber, Typed: true}, {Name: "pattern", Type: flow.FieldText, Typed: true},
		{Name: "enum", Type: flow.FieldList, Typed: true}, {Name: "accept", Type: flow.FieldList, Typed: true},
		{Name: "roles", Type: flow.FieldList, Typed: true}, {Name: "images", Type: flow.FieldBoolean, Typed: true},
	},
	Outputs: []flow.Port{{Name: "value", Type: flow.TypeAny}},
	Run: func(_ context.Context, in *flow.In) (flow.Out, error) {
		return flow.Out{Outputs: map[string]any{"value": in.Ports["value"]}}, nil
	},
}

// OutputKind is the kind of outputs. It passes its value on, as the real one does.
var OutputKind = flow.Kind{
	Name: "output", Title: "Output", Group: "Test", Summary: "Gives a value.", Role: flow.RoleOutput,
	Fields:  []flow.Field{{Name: "name", Type: flow.FieldText, Typed: true, Required: true}},
	Inputs:  []flow.Port{{Name: "value", Type: flow.TypeAny, Required: true}},
	Outputs: []flow.Port{{Name: "value", Type: flow.TypeAny, Passes: "value"}},
	Run: func(_ context.Context, in *flow.In) (flow.Out, error) {
		return flow.Out{Outputs: map[string]any{"value": in.Ports["value"]}}, nil
	},
}

// WorkKind returns a kind that outputs a digest of its inputs. It first suspends as often
// as its field "pauses" says.
func WorkKind(name string, class flow.Class) flow.Kind {
	return flow.Kind{
		Name: name, Title: name, Group: "Test", Summary: "Digests its values.", Class: class,
		Fields: []flow.Field{
			{Name: "text", Title: "Text", Type: flow.FieldText, Default: "none"},
			{Name: "fails", Type: flow.FieldInteger, Typed: true}, {Name: "wait_s", Type: flow.FieldNumber, Typed: true},
			{Name: "pauses", Type: flow.FieldInteger, Typed: true}, {Name: "pause_s", Type: flow.FieldNumber, Typed: true},
			{Name: "takes_s", Type: flow.FieldNumber, Typed: true},
		},
		Inputs:  []flow.Port{{Name: "values", Type: flow.TypeAny, List: true}},
		Outputs: []flow.Port{{Name: "text", Type: flow.TypeText}},
		Run:     work,
	}
}

// work runs most kinds here. Its config sets how long it takes and how often it suspends.
// The returned text contains a hash of its inputs, so that a step that ran with wrong
// inputs changes every output that depends on it.
func work(ctx context.Context, in *flow.In) (flow.Out, error) {
	if takes, _ := flow.Float(in.Config["takes_s"]); takes > 0 {
		select {
		case <-time.After(Seconds(takes)):
		case <-ctx.Done():
			return flow.Out{}, ctx.Err()
		}
	}
	done, _ := flow.Float(in.State)
	if int(done) < in.Int("pauses") {
		pause, _ := flow.Float(in.Config["pause_s"])
		return flow.Out{Usage: OneCall, Suspend: &flow.Suspension{Until: clock(ctx).Add(Seconds(pause)), State: flow.Number(int(done) + 1)}}, nil
	}
	digest := flow.Hash(value.Canonical([]any{in.Node, in.Ports["values"], in.Config["text"]}))[:8]
	return flow.Out{Outputs: map[string]any{"text": in.Node + "-" + digest}, Usage: OneCall}, nil
}

// OneCall is the usage of a step that calls a model once. All numbers differ, so that a
// test notices a sum over the wrong field.
var OneCall = flow.Usage{InputTokens: 3, OutputTokens: 2, CostNanoUSD: 7}

// Seconds converts a number of seconds, as configs have it, to a duration.
func Seconds(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }

// clockKey is the context key for the time of a simulation.
type clockKey struct{}

// WithClock returns a context in which kinds use the given time instead of the real clock.
func WithClock(now time.Time) context.Context {
	return context.WithValue(context.Background(), clockKey{}, now)
}

// clock returns the time of the simulation, or of the machine if the context has none.
func clock(ctx context.Context) time.Time {
	if t, ok := ctx.Value(clockKey{}).(time.Time); ok {
		return t
	}
	return time.Now()
}

// gateKind passes its value on through one of two ports.
func gateKind(name string, class flow.Class) flow.Kind {
	return flow.Kind{
		Name: name, Title: name, Group: "Test", Summary: "Chooses a branch.", Class: class,
		Fields:  []flow.Field{{Name: "take", Type: flow.FieldSelect, Options: []string{"yes", "no", "text"}, Typed: true}},
		Inputs:  []flow.Port{{Name: "value", Type: flow.TypeAny, Required: true}},
		Outputs: []flow.Port{{Name: "yes", Type: flow.TypeAny, Passes: "value", Branch: true}, {Name: "no", Type: flow.TypeAny, Passes: "value", Branch: true}},
		Run: func(_ context.Context, in *flow.In) (flow.Out, error) {
			port := in.Text("take")
			if port == "text" || port == "" {
				port = flow.Text(in.Ports["value"])
			}
			if port != "yes" {
				port = "no"
			}
			return flow.Out{Outputs: map[string]any{port: in.Ports["value"]}}, nil
		},
	}
}

// firstKind declares a kind whose list port takes the first live edge, as first_of
// does. class says how its steps are recorded.
func firstKind(name string, class flow.Class) flow.Kind {
	return flow.Kind{
		Name: name, Title: name, Group: "Test", Summary: "Joins branches.", Class: class,
		Inputs:  []flow.Port{{Name: "values", Type: flow.TypeAny, List: true, First: true, Required: true}},
		Outputs: []flow.Port{{Name: "value", Type: flow.TypeAny, Passes: "values"}},
		Run: func(_ context.Context, in *flow.In) (flow.Out, error) {
			return flow.Out{Outputs: map[string]any{"value": in.Ports["values"].([]any)[0]}}, nil
		},
	}
}

// hookKind declares a kind that depends on outputs of the run through its field
// "outputs", as a webhook does.
func hookKind(name string, class flow.Class) flow.Kind {
	return flow.Kind{
		Name: name, Title: name, Group: "Test", Summary: "Sends outputs.", Class: class, OutputsField: "outputs",
		Fields: []flow.Field{
			{Name: "url", Type: flow.FieldText, Required: true},
			{Name: "outputs", Type: flow.FieldList, Typed: true},
		},
		Outputs: []flow.Port{{Name: "outputs", Type: flow.TypeJSON, Optional: true}},
		Run: func(_ context.Context, in *flow.In) (flow.Out, error) {
			d := flow.NewDelivery{Node: in.Node, URL: in.Text("url"), Body: flow.EncodeJSON(in.Collected)}
			return flow.Out{Outputs: map[string]any{"outputs": in.Collected}, Deliveries: []flow.NewDelivery{d}}, nil
		},
	}
}

// templateKind has a field of each type that documents check, and a template, so that a
// name in a text becomes a port.
var templateKind = flow.Kind{
	Name: "fill", Title: "Fill", Group: "Test", Summary: "Fills a template in.",
	Fields: []flow.Field{
		{Name: "template", Title: "Template", Type: flow.FieldArea, Template: true, Required: true},
		{Name: "size", Type: flow.FieldInteger, Min: new(1.0), Max: new(9.0)},
		{Name: "tags", Type: flow.FieldList, Template: true}, {Name: "fast", Type: flow.FieldBoolean},
		{Name: "style", Type: flow.FieldSelect, Options: []string{"plain", "loud"}},
	},
	Outputs: []flow.Port{{Name: "text", Type: flow.TypeText}},
	Check: func(n *flow.Node) []flow.Problem {
		if s, _ := n.Config["template"].(string); strings.Contains(s, "forbidden") {
			return []flow.Problem{{Pointer: "/template", Code: "invalid", Detail: "this word is forbidden"}}
		}
		return nil
	},
	Run: func(_ context.Context, in *flow.In) (flow.Out, error) {
		return flow.Out{Outputs: map[string]any{"text": in.Text("template")}}, nil
	},
}

// secretKind reads a secret and outputs only its length.
var secretKind = flow.Kind{
	Name: "unlock", Title: "Unlock", Group: "Test", Summary: "Uses a secret.", Class: flow.Outside,
	Fields: []flow.Field{
		{Name: "secret", Type: flow.FieldSecret, Required: true},
		{Name: "headers", Type: flow.FieldMap, Template: true, Secrets: flow.SecretsByName},
	},
	Outputs: []flow.Port{{Name: "text", Type: flow.TypeText}},
	Run: func(ctx context.Context, in *flow.In) (flow.Out, error) {
		s, err := in.Secret(ctx, in.Config["secret"], "example.com")
		return flow.Out{Outputs: map[string]any{"text": fmt.Sprintf("%d characters", len(s))}}, err
	},
}

// jobKind runs an external job. Its state is the name of the job, which must not be lost.
// The simulation provides the jobs (simjobs_test.go).
var jobKind = func() flow.Kind {
	k := WorkKind("job", flow.Outside)
	k.Fields = append(k.Fields, flow.Field{Name: "forgets", Type: flow.FieldBoolean, Typed: true})
	k.Run = func(ctx context.Context, in *flow.In) (flow.Out, error) {
		name, pauses := JobOf(in.State)
		if pauses < in.Int("pauses") {
			pause, _ := flow.Float(in.Config["pause_s"])
			return flow.Out{Usage: OneCall, Suspend: &flow.Suspension{Until: clock(ctx).Add(Seconds(pause)), State: JobState(name, pauses+1)}}, nil
		}
		in.State = nil
		return work(ctx, &flow.In{Node: in.Node, Ports: in.Ports, Config: map[string]any{"text": in.Config["text"]}})
	}
	k.Cleanup = func(context.Context, *flow.In) error { return nil }
	return k
}()

// JobState returns the state that a job keeps while it is suspended, like the prediction
// ID of a provider.
func JobState(name string, pauses int) any {
	return map[string]any{"job": name, "pauses": flow.Number(pauses)}
}

// JobOf decodes a state of JobState. For any other value it returns no name and no pauses.
func JobOf(state any) (name string, pauses int) {
	m, _ := flow.AsMap(state)
	n, _ := flow.Float(m["pauses"])
	return flow.Text(m["job"]), int(n)
}

// KindsAnd returns a registry of Kinds and the given kinds.
func KindsAnd(extra ...flow.Kind) *flow.Registry {
	for _, k := range Kinds.List() {
		extra = append(extra, *k)
	}
	return flow.NewRegistry(extra...)
}
