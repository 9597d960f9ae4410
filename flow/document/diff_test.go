package document

import (
	"slices"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/flowtest"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	const base = `
		i input {"name": "ticket", "type": "text"}
		j input {"name": "tone", "default": "friendly", "min": 1, "enum": ["a", "b"]}
		a call {"text": "A"} {"label": "Ask", "position": {"x": 1, "y": 2}}
		o output {"name": "answer"}
		i.value -> a.values
		a.text -> o.value`
	for _, tt := range []struct {
		name     string
		change   [2]string
		want     []string
		breaking []string
	}{
		{"nothing", [2]string{"x9", ""}, nil, nil},
		{"a new node and edge", [2]string{"a.text -> o.value", "b call\n a.text -> o.value\n i.value -> b.values"},
			[]string{`"b" (call) was added.`, "Connected ticket to b."}, nil},
		{"a node less", [2]string{`a call {"text": "A"} {"label": "Ask", "position": {"x": 1, "y": 2}}`, ""},
			[]string{`"Ask" (call) was removed.`}, nil},
		{"fields and members", [2]string{`{"text": "A"} {"label": "Ask",`, `{"fails": 1, "wait_s": 2} {"label": "Ask more", "timeout_s": 5,`},
			[]string{`Ask more: label, timeout s, fails, Text, wait s edited.`}, nil},
		{"another kind", [2]string{"a call", "a think"}, []string{`Ask: kind edited.`}, nil},
		{"a move", [2]string{`"x": 1`, `"x": 9`}, []string{"1 node moved on the canvas."}, nil},
		{"an edge less", [2]string{"i.value -> a.values", ""}, []string{"Disconnected ticket from Ask."}, nil},
		{"an optional input", [2]string{"o output", "k input {\"name\": \"k\", \"default\": 1}\n o output"},
			[]string{`The input "k" was added and is optional.`, `"k" (Input) was added.`}, nil},
		{"a required input", [2]string{"o output", "k input {\"name\": \"k\"}\n o output"},
			[]string{`The input "k" was added and is required: requests without it are rejected.`, `"k" (Input) was added.`},
			[]string{`The input "k" was added and is required: requests without it are rejected.`}},
		{"an input less", [2]string{`j input {"name": "tone", "default": "friendly", "min": 1, "enum": ["a", "b"]}`, ""},
			[]string{`The input "tone" was removed: requests that send it are rejected.`, `"tone" (Input) was removed.`},
			[]string{`The input "tone" was removed: requests that send it are rejected.`}},
		{"an input made required", [2]string{`"default": "friendly", `, ""},
			[]string{`The input "tone" became required: requests without it are rejected.`, `tone: default edited.`},
			[]string{`The input "tone" became required: requests without it are rejected.`}},
		{"an input made optional", [2]string{`"type": "text"`, `"type": "text", "default": ""`},
			[]string{`The input "ticket" became optional.`, `ticket: default edited.`}, nil},
		{"another default", [2]string{"friendly", "stern"}, []string{`The input "tone" has a new default.`, `tone: default edited.`}, nil},
		{"another type", [2]string{`"type": "text"`, `"type": "number"`},
			[]string{`The input "ticket" changed its type from text to number.`, `ticket: type edited.`},
			[]string{`The input "ticket" changed its type from text to number.`}},
		{"fewer values", [2]string{`"min": 1, "enum": ["a", "b"]`, `"min": 2, "max": 3, "pattern": "x", "enum": ["b"]`},
			[]string{`The input "tone" accepts fewer values (minimum, maximum, pattern, allowed values).`, `tone: enum, max, min, pattern edited.`},
			[]string{`The input "tone" accepts fewer values (minimum, maximum, pattern, allowed values).`}},
		{"more values", [2]string{`"min": 1, "enum": ["a", "b"]`, `"min": 0, "enum": ["a", "b", "c"]`}, []string{`tone: enum, min edited.`}, nil},
		{"another output", [2]string{`"name": "answer"`, `"name": "reply"`},
			[]string{`The output "answer" was removed: clients reading it will break.`, `The output "reply" was added.`, `reply: name edited.`},
			[]string{`The output "answer" was removed: clients reading it will break.`}},
		{"an output of another type", [2]string{"a.text -> o.value", "i.value -> o.value"},
			[]string{"Connected ticket to answer.", "Disconnected Ask from answer."}, nil},
		{"a number for a text", [2]string{"a.text -> o.value", "n input {\"name\": \"n\", \"type\": \"number\", \"default\": 1}\n n.value -> o.value"},
			[]string{`The input "n" was added and is optional.`, `The output "answer" changed its type from text to number.`, `"n" (Input) was added.`,
				"Connected n to answer.", "Disconnected Ask from answer."},
			[]string{`The output "answer" changed its type from text to number.`}},
		{"an output on a branch", [2]string{"a.text -> o.value", "g gate\n i.value -> g.value\n g.yes -> o.value"},
			[]string{`The output "answer" can be missing when its branch is not taken.`, `"g" (gate) was added.`, "Connected ticket to g.", "Connected g › yes to answer.", "Disconnected Ask from answer."},
			[]string{`The output "answer" can be missing when its branch is not taken.`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			old, now := parsed(t, base), parsed(t, strings.Replace(base, tt.change[0], tt.change[1], 1))
			d := Compare(old, now, flowtest.Kinds)
			if !slices.Equal(d.Sentences(), append([]string{}, tt.want...)) || !slices.Equal(d.Breaking, tt.breaking) {
				t.Errorf("breaking %q\n got %q\nwant %q", d.Breaking, d.Sentences(), tt.want)
			}
			if d.Empty() != (len(tt.want) == 0 || tt.name == "a move") {
				t.Error("empty is wrong")
			}
		})
	}
}

func TestCompareNames(t *testing.T) {
	t.Parallel()
	old, now := parsed(t, "a call"), parsed(t, "a call")
	now.Name, now.Description, now.Groups = "New", "x", []flow.Group{{ID: "g"}}
	want := []string{`The name changed from "test" to "New".`, "The description changed.", "The groups changed."}
	if got := Compare(old, now, flowtest.Kinds).Sentences(); !slices.Equal(got, want) {
		t.Error(got)
	}
}

func TestCompareWithNothing(t *testing.T) {
	t.Parallel()
	d := Compare(nil, parsed(t, "i input {\"name\": \"x\"}\n o output {\"name\": \"y\"}\n i.value -> o.value"), flowtest.Kinds)
	if len(d.Breaking) > 0 || len(d.API) != 2 || len(d.Nodes) != 2 || len(d.Added) != 1 || len(d.About) > 0 {
		t.Errorf("%+v", d)
	}
}
