package document_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/flowtest"
	"sluice/nodes"
)

// childParent is a flow with a branch, a fallback and a secret.
const childParent = `text input {"name": "text"}
	key input {"name": "key", "secret": true}
	mood sentiment {}
	check condition {"expression": "value == \"positive\""}
	thanks template {"template": "Thanks for {{text}}: {{mood}}"}
	shout template {"template": "{{text}}!"}
	sorry template {"template": "Sorry: {{text}}"}
	call http_request {"url": "https://example.com", "headers": {"Authorization": "{{key}}"}}
	reply output {"name": "reply"}
	hook webhook {"url": "https://example.com"}
	text.value -> mood.text
	mood.label -> check.value
	check.true -> thanks.mood
	text.value -> thanks.text
	thanks.text -> shout.text
	shout.text -> reply.value
	text.value -> sorry.text
	check.false -> sorry.text
	sorry.text -> reply.value
	key.value -> call.key`

func parsed(t *testing.T, lines string) *flow.Document {
	t.Helper()
	d, problems := document.ParseDocument(flowtest.Document(lines))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return d
}

// edgesOf returns the edges of a document in one line.
func edgesOf(d *flow.Document) string {
	var list []string
	for _, e := range d.Edges {
		list = append(list, e.From+">"+e.To)
	}
	return strings.Join(list, " ")
}

func TestNewChild_turns_crossing_edges_into_inputs_and_outputs(t *testing.T) {
	t.Parallel()
	kinds := nodes.New(nodes.Deps{})
	d := parsed(t, childParent)
	c, err := document.NewChild(d, kinds, []string{"text", "mood", "check", "thanks", "shout", "reply"}, "Thank people")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := edgesOf(c.Document), "text.value>mood.text mood.label>check.value check.true>thanks.mood text.value>thanks.text thanks.text>shout.text shout.text>shout_2.value check.false>check_2.value"; got != want {
		t.Errorf("the edges of the child are\n%s, want\n%s", got, want)
	}
	if problems := document.Validate(c.Document, kinds); len(problems) > 0 {
		t.Errorf("the child has problems: %v", problems)
	}
	edited, err := document.ApplyEdits(d, c.Edits("flow_1"))
	if err != nil {
		t.Fatal(err)
	}
	if len(edited.Skipped) > 0 {
		t.Errorf("skipped: %v", edited.Skipped)
	}
	into := func(port string) (list []string) {
		for _, e := range edited.Document.Edges {
			if e.To == port {
				list = append(list, e.From)
			}
		}
		return list
	}
	if got := fmt.Sprint(into("reply.value"), into("sorry.text"), into("subflow.input.text")); got != "[subflow.shout sorry.text] [text.value subflow.check] [text.value]" {
		t.Errorf("the edges keep no order at their ports: %s", got)
	}
	undone, err := document.ApplyEdits(edited.Document, edited.Inverse)
	if err != nil || edgesOf(undone.Document) != edgesOf(d) {
		t.Errorf("undone, the edges are %s (%v)", edgesOf(undone.Document), err)
	}
}

func TestNewChild_refuses_what_would_change_the_flow(t *testing.T) {
	t.Parallel()
	kinds := nodes.New(nodes.Deps{})
	for _, tt := range []struct{ name, selected, want string }{
		{"no nodes of its own", "text reply hook", "Select the nodes for the new flow."},
		{"a node between", "mood thanks", "check runs between the selected nodes. Select it too."},
		{"a branch and none", "thanks call", "Leave it out of the selection."},
		{"both branches", "thanks sorry", "gets a value under another condition than"},
		{"a branch and its source", "thanks shout", "gets a value under another condition than"},
		{"a condition inside", "mood check thanks sorry shout", ""},
		{"without edges from outside of a branch", "shout", ""},
	} {
		_, err := document.NewChild(parsed(t, childParent), kinds, strings.Fields(tt.selected), "Child")
		if got := fmt.Sprint(err); tt.want == "" && err != nil || !strings.Contains(got, tt.want) && tt.want != "" {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestNewChild_keeps_the_outputs makes children of random parts of random flows and plays runs of the flows
// with and without the child. A child that ran under another condition than its nodes would change the outputs.
func TestNewChild_keeps_the_outputs(t *testing.T) {
	t.Parallel()
	kinds := nodes.New(nodes.Deps{})
	made := 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		d := parsed(t, randomFlow(rng))
		var selected []string
		for _, n := range d.Nodes {
			if rng.IntN(2) == 0 {
				selected = append(selected, n.ID)
			}
		}
		c, err := document.NewChild(d, kinds, selected, "Child")
		if err != nil {
			continue
		}
		made++
		if problems := document.Validate(c.Document, kinds); len(problems) > 0 {
			t.Fatalf("seed %d: the child has problems: %v", seed, problems)
		}
		edited, err := document.ApplyEdits(d, append(c.Edits("flow_1"), document.Edit{Op: document.OpSet, Node: "subflow", Field: "contract", Value: contractFor(c.Document, kinds)}))
		if err != nil || len(edited.Skipped) > 0 {
			t.Fatalf("seed %d: %v, %v", seed, err, edited)
		}
		if problems := document.Validate(edited.Document, kinds); len(problems) > 0 {
			t.Fatalf("seed %d: the parent has problems: %v", seed, problems)
		}
		undone, err := document.ApplyEdits(edited.Document, edited.Inverse)
		if err != nil || string(undone.Document.Encode()) != string(d.Encode()) {
			t.Fatalf("seed %d: undone, the parent is %s, want %s (%v)", seed, undone.Document.Encode(), d.Encode(), err)
		}
		for taken := range 4 {
			if was, now := played(d, nil, taken, nil), played(edited.Document, c.Document, taken, nil); !maps.Equal(was, now) {
				t.Fatalf("seed %d, ways %d: the outputs are %s, were %s; the child has %v of\n%s", seed, taken, now, was, selected, d.Encode())
			}
		}
	}
	if made < 200 {
		t.Errorf("only %d of 3000 parts became a flow", made)
	}
}

// contractFor returns the contract of a child as the library stores it in nodes.
func contractFor(d *flow.Document, kinds *flow.Registry) map[string]any {
	in, out := []any{}, []any{}
	for _, n := range d.Nodes {
		if n.Kind == "input" {
			in = append(in, map[string]any{"name": n.Config["name"], "type": n.Config["type"], "required": true})
		}
	}
	for _, o := range document.Outputs(d, kinds) {
		out = append(out, map[string]any{"name": o.Name, "type": string(o.Type), "optional": o.Optional})
	}
	return map[string]any{"name": d.Name, "inputs": in, "outputs": out}
}

// randomFlow returns the lines of a flow of templates and conditions without loops.
func randomFlow(rng *rand.Rand) string {
	lines, ports := []string{`in input {"name": "in"}`}, []string{"in.value"}
	var edges []string
	for i := range 3 + rng.IntN(5) {
		id := fmt.Sprintf("n%d", i)
		if rng.IntN(3) == 0 {
			lines = append(lines, id+` condition {"expression": "value == 1"}`)
			edges = append(edges, ports[rng.IntN(len(ports))]+" -> "+id+".value")
			ports = append(ports, id+".true", id+".false")
			continue
		}
		names := []string{"a", "b"}[:1+rng.IntN(2)]
		lines = append(lines, fmt.Sprintf(`%s template {"template": "{{%s}}"}`, id, strings.Join(names, "}} {{")))
		for _, name := range names {
			edges = append(edges, ports[rng.IntN(len(ports))]+" -> "+id+"."+name)
		}
		ports = append(ports, id+".text")
	}
	for i := range 1 + rng.IntN(2) {
		lines = append(lines, fmt.Sprintf(`out%d output {"name": "out%d"}`, i, i))
		for range 1 + rng.IntN(2) {
			if e := ports[rng.IntN(len(ports))] + fmt.Sprintf(" -> out%d.value", i); !slices.Contains(edges, e) {
				edges = append(edges, e)
			}
		}
	}
	return strings.Join(append(lines, edges...), "\n")
}

// played returns the outputs of a run of a flow of templates, conditions and a subflow, whose document is child. Conditions
// take the way that the bits of taken say.
func played(d, child *flow.Document, taken int, given map[string]string) map[string]string {
	values := map[string]string{} // by port; absent ones are skipped
	into := func(port string) (value string, live bool) {
		for _, e := range d.Edges {
			if v, has := values[e.From]; has && e.To == port {
				return v, true
			}
		}
		return "", false
	}
	outputs := map[string]string{}
	for _, id := range document.RunOrder(d, nodes.New(nodes.Deps{})) {
		n := d.Node(id)
		got, live := map[string]string{}, true
		for _, e := range d.Edges {
			if to, port := e.Target(); to == id {
				value, has := into(e.To)
				live, got[port] = live && has, value
			}
		}
		switch {
		case n.Kind == "input":
			values[id+".value"] = "in"
			if given != nil {
				values[id+".value"] = given[flow.NameOf(n)]
			}
		case n.Kind == "output" && live:
			outputs[flow.NameOf(n)] = got["value"]
		case n.Kind == "condition" && live:
			way := []string{"true", "false"}[taken>>(id[1]%2)&1]
			values[id+"."+way] = got["value"]
		case n.Kind == "template" && live:
			values[id+".text"] = id + "(" + got["a"] + "," + got["b"] + ")"
		case n.Kind == "subflow" && live:
			inputs := map[string]string{}
			for port, value := range got {
				inputs[strings.TrimPrefix(port, "input.")] = value
			}
			for name, value := range played(child, nil, taken, inputs) {
				values[id+"."+name] = value
			}
		}
	}
	return outputs
}
