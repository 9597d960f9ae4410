package flow

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// testKinds are small kinds in every class: enough to build any shape of flow
// without the real ones.
var testKinds = NewRegistry(
	inputKind, outputKind,
	workKind("note_down", Inline), workKind("think", Compute), workKind("call", Outside),
	gateKind("gate", Inline), gateKind("ask", Outside),
	firstKind("first", Inline), firstKind("race", Compute),
	hookKind("hook", Outside), hookKind("tell", Inline),
	templateKind, secretKind, jobKind,
	Kind{Name: "sticker", Title: "Sticker", Group: "Test", Summary: "Lies on the canvas.", Role: RoleCanvas,
		Fields: []Field{{Name: "text", Type: FieldArea, Typed: true}}},
)

var inputKind = Kind{
	Name: "input", Title: "Input", Group: "Test", Summary: "Takes a value.", Role: RoleInput,
	Fields: []Field{
		{Name: "name", Type: FieldText, Typed: true, Required: true}, {Name: "type", Type: FieldKind, Typed: true},
		{Name: "default", Type: FieldJSON, Typed: true}, {Name: "description", Type: FieldText, Typed: true},
		{Name: "example", Type: FieldJSON, Typed: true}, {Name: "min", Type: FieldNumber, Typed: true},
		{Name: "max", Type: FieldNumber, Typed: true}, {Name: "pattern", Type: FieldText, Typed: true},
		{Name: "enum", Type: FieldList, Typed: true}, {Name: "accept", Type: FieldList, Typed: true},
	},
	Outputs: []Port{{Name: "value", Type: TypeAny}},
	Run: func(_ context.Context, in *In) (Out, error) {
		return Out{Outputs: map[string]any{"value": in.Ports["value"]}}, nil
	},
}

var outputKind = Kind{
	Name: "output", Title: "Output", Group: "Test", Summary: "Gives a value.", Role: RoleOutput,
	Fields:  []Field{{Name: "name", Type: FieldText, Typed: true, Required: true}},
	Inputs:  []Port{{Name: "value", Type: TypeAny, Required: true}},
	Outputs: []Port{{Name: "value", Type: TypeAny}},
	Run: func(_ context.Context, in *In) (Out, error) {
		return Out{Outputs: map[string]any{"value": in.Ports["value"]}}, nil
	},
}

// workKind digests what it is given; with pauses it first suspends that often.
func workKind(name string, class Class) Kind {
	return Kind{
		Name: name, Title: name, Group: "Test", Summary: "Digests its values.", Class: class,
		Fields: []Field{
			{Name: "text", Title: "Text", Type: FieldText, Default: "none"},
			{Name: "fails", Type: FieldInteger, Typed: true}, {Name: "wait_s", Type: FieldNumber, Typed: true},
			{Name: "pauses", Type: FieldInteger, Typed: true}, {Name: "pause_s", Type: FieldNumber, Typed: true},
			{Name: "takes_s", Type: FieldNumber, Typed: true},
		},
		Inputs:  []Port{{Name: "values", Type: TypeAny, List: true}},
		Outputs: []Port{{Name: "text", Type: TypeText}},
		Run:     work,
	}
}

func work(ctx context.Context, in *In) (Out, error) {
	if takes, _ := Float(in.Config["takes_s"]); takes > 0 {
		select {
		case <-time.After(seconds(takes)):
		case <-ctx.Done():
			return Out{}, ctx.Err()
		}
	}
	done, _ := Float(in.State)
	if int(done) < in.Int("pauses") {
		pause, _ := Float(in.Config["pause_s"])
		return Out{Usage: oneCall, Suspend: &Suspension{Until: clock(ctx).Add(seconds(pause)), State: Number(int(done) + 1)}}, nil
	}
	digest := Hash(EncodeJSON([]any{in.Node, in.Ports["values"], in.Config["text"]}))[:8]
	return Out{Outputs: map[string]any{"text": in.Node + "-" + digest}, Usage: oneCall}, nil
}

var oneCall = Usage{InputTokens: 3, OutputTokens: 2, CostNanoUSD: 7}

func seconds(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }

type clockKey struct{}

// withClock gives kinds the time of a test that has a clock of its own.
func withClock(now time.Time) context.Context {
	return context.WithValue(context.Background(), clockKey{}, now)
}

func clock(ctx context.Context) time.Time {
	if t, ok := ctx.Value(clockKey{}).(time.Time); ok {
		return t
	}
	return time.Now()
}

// gateKind passes its value on through one of two ports.
func gateKind(name string, class Class) Kind {
	return Kind{
		Name: name, Title: name, Group: "Test", Summary: "Chooses a branch.", Class: class,
		Fields:  []Field{{Name: "take", Type: FieldSelect, Options: []string{"yes", "no", "text"}, Typed: true}},
		Inputs:  []Port{{Name: "value", Type: TypeAny, Required: true}},
		Outputs: []Port{{Name: "yes", Type: TypeAny}, {Name: "no", Type: TypeAny}},
		Run: func(_ context.Context, in *In) (Out, error) {
			port := in.Text("take")
			if port == "text" || port == "" {
				port = Text(in.Ports["value"])
			}
			if port != "yes" {
				port = "no"
			}
			return Out{Outputs: map[string]any{port: in.Ports["value"]}}, nil
		},
	}
}

func firstKind(name string, class Class) Kind {
	return Kind{
		Name: name, Title: name, Group: "Test", Summary: "Joins branches.", Class: class,
		Inputs:  []Port{{Name: "values", Type: TypeAny, List: true, First: true, Required: true}},
		Outputs: []Port{{Name: "value", Type: TypeAny}},
		Run: func(_ context.Context, in *In) (Out, error) {
			return Out{Outputs: map[string]any{"value": in.Ports["values"].([]any)[0]}}, nil
		},
	}
}

func hookKind(name string, class Class) Kind {
	return Kind{
		Name: name, Title: name, Group: "Test", Summary: "Sends outputs.", Class: class, Collects: "outputs",
		Fields: []Field{
			{Name: "url", Type: FieldText, Required: true},
			{Name: "outputs", Type: FieldList, Typed: true},
		},
		Outputs: []Port{{Name: "outputs", Type: TypeJSON}},
		Run: func(_ context.Context, in *In) (Out, error) {
			d := NewDelivery{Node: in.Node, URL: in.Text("url"), Body: EncodeJSON(in.Collected)}
			return Out{Outputs: map[string]any{"outputs": in.Collected}, Deliveries: []NewDelivery{d}}, nil
		},
	}
}

var templateKind = Kind{
	Name: "fill", Title: "Fill", Group: "Test", Summary: "Fills a template in.",
	Fields: []Field{
		{Name: "template", Title: "Template", Type: FieldArea, Template: true, Required: true},
		{Name: "size", Type: FieldInteger, Min: new(1.0), Max: new(9.0)},
		{Name: "tags", Type: FieldList, Template: true}, {Name: "fast", Type: FieldBoolean},
		{Name: "style", Type: FieldSelect, Options: []string{"plain", "loud"}},
	},
	Outputs: []Port{{Name: "text", Type: TypeText}},
	Check: func(n *Node) []Problem {
		if s, _ := n.Config["template"].(string); strings.Contains(s, "forbidden") {
			return []Problem{{Pointer: "/template", Code: "invalid", Detail: "this word is forbidden"}}
		}
		return nil
	},
	Run: func(_ context.Context, in *In) (Out, error) {
		return Out{Outputs: map[string]any{"text": in.Text("template")}}, nil
	},
}

// secretKind reads a secret and says only how long it is.
var secretKind = Kind{
	Name: "unlock", Title: "Unlock", Group: "Test", Summary: "Uses a secret.", Class: Outside,
	Fields: []Field{
		{Name: "secret", Type: FieldSecret, Required: true},
		{Name: "headers", Type: FieldMap, Template: true, Secrets: SecretsByName},
	},
	Outputs: []Port{{Name: "text", Type: TypeText}},
	Run: func(ctx context.Context, in *In) (Out, error) {
		s, err := in.Secret(ctx, in.Config["secret"], "example.com")
		return Out{Outputs: map[string]any{"text": fmt.Sprintf("%d characters", len(s))}}, err
	},
}

// jobKind has something done elsewhere that it must not forget: its state is
// the job's name. What happens to jobs is the simulation's part (simjobs_test.go).
var jobKind = func() Kind {
	k := workKind("job", Outside)
	k.Fields = append(k.Fields, Field{Name: "forgets", Type: FieldBoolean, Typed: true})
	k.Run = func(ctx context.Context, in *In) (Out, error) {
		name, pauses := jobOf(in.State)
		if pauses < in.Int("pauses") {
			pause, _ := Float(in.Config["pause_s"])
			return Out{Usage: oneCall, Suspend: &Suspension{Until: clock(ctx).Add(seconds(pause)), State: jobState(name, pauses+1)}}, nil
		}
		in.State = nil
		return work(ctx, &In{Node: in.Node, Ports: in.Ports, Config: map[string]any{"text": in.Config["text"]}})
	}
	k.Abandon = func(context.Context, *In) error { return nil }
	return k
}()

func jobState(name string, pauses int) any {
	return map[string]any{"job": name, "pauses": Number(pauses)}
}

func jobOf(state any) (name string, pauses int) {
	m, _ := state.(map[string]any)
	n, _ := Float(m["pauses"])
	return Text(m["job"]), int(n)
}
