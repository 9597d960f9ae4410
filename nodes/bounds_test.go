package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sluice/e2e/need"
	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/flowtest"
	"sluice/providers/builtin"
)

const mebibyte = 1 << 20

// repeated returns the unit repeated up to 1 MiB.
func repeated(unit string) string { return strings.Repeat(unit, mebibyte/len(unit)) }

// names returns distinct names, up to 1 MiB.
func names(prefix string) (list []any) {
	for i := range mebibyte / (len(prefix) + 9) {
		list = append(list, fmt.Sprint(prefix, i))
	}
	return list
}

// properties returns a JSON Schema with properties.
func properties(n int, of func(i int) any) map[string]any {
	members := map[string]any{}
	for i := range n {
		members[fmt.Sprint("p", i)] = of(i)
	}
	return map[string]any{"type": "object", "properties": members}
}

// hostileDocuments are documents of up to 1 MiB whose nodes take long to check: a number of
// nodes of a kind, with their config.
var hostileDocuments = map[string]struct {
	nodes  int
	kind   string
	config func(i int) map[string]any
}{
	"patterns with wide ranges": {500, "extract", func(i int) map[string]any {
		return obj{"pattern": fmt.Sprint("(?i)", i, strings.Repeat(`[a-\x{10ffff}]`, 4))}
	}},
	"patterns with classes": {900, "extract", func(i int) map[string]any { return obj{"pattern": fmt.Sprint(i, strings.Repeat(`\pL`, 130))} }},
	"patterns that repeat":  {900, "extract", func(i int) map[string]any { return obj{"pattern": fmt.Sprint(i, strings.Repeat(`a{999}`, 9))} }},
	"patterns of inputs": {900, "input", func(i int) map[string]any {
		return obj{"name": fmt.Sprint("n", i), "default": strings.Repeat("a", 1000), "pattern": fmt.Sprint("(a?){300}", i)}
	}},
	"expressions with parts": {500, "condition", func(i int) map[string]any { return obj{"expression": fmt.Sprint(strings.Repeat("value + ", 240), i)} }},
	"expressions that are deep": {500, "condition", func(i int) map[string]any {
		return obj{"expression": strings.Repeat("[", 35) + fmt.Sprint(i) + strings.Repeat("]", 35)}
	}},
	"expressions with macros": {500, "condition", func(i int) map[string]any {
		return obj{"expression": strings.Repeat("value.all(x, ", 12) + fmt.Sprint(i, "== 1") + strings.Repeat(")", 12)}
	}},
	"expressions with mistakes": {500, "condition", func(i int) map[string]any {
		return obj{"expression": fmt.Sprint(i, "==1", strings.Repeat("||f(a)", 320))}
	}},
	"paths": {900, "extract", func(i int) map[string]any {
		return obj{"by": extractPath, "path": "$" + strings.Repeat("[?@", 110) + strings.Repeat("]", 110)}
	}},
	"schemas with patterns": {15, "chat", func(i int) map[string]any {
		return obj{"schema": properties(250, func(j int) any {
			return obj{"pattern": fmt.Sprint("(?i)", i, "x", j, strings.Repeat(`[a-\x{10ffff}]`, 4))}
		})}
	}},
	"schemas with properties": {15, "chat", func(int) map[string]any { return obj{"schema": properties(4900, func(int) any { return true })} }},
	"schemas with alternatives": {15, "chat", func(int) map[string]any {
		return obj{"schema": properties(1, func(int) any { return obj{"anyOf": names2(2000)} })}
	}},
	"names of values":  {1, "approval", func(int) map[string]any { return obj{"values": names("v"), "editable": names("v")} }},
	"names of outputs": {1, "code", func(int) map[string]any { return obj{"outputs": names("v"), "inputs": names("v")} }},
	"cases":            {1, "switch", func(int) map[string]any { return obj{"cases": names("case ")} }},
	"unknown fields": {1, "template", func(int) map[string]any {
		m := obj{}
		for _, name := range names("field") {
			m[name.(string)] = 1
		}
		return m
	}},
	"allowed values": {1, "input", func(int) map[string]any { return obj{"name": "a", "enum": names("v"), "default": "none"} }},
	"places in a template": {1, "template", func(int) map[string]any {
		return obj{"template": "{{" + strings.Join(texts(names("a")), "}}{{") + "}}"}
	}},
	"escapes in a template":     {1, "template", func(int) map[string]any { return obj{"template": repeated(`\{{`)} }},
	"open places in a template": {1, "template", func(int) map[string]any { return obj{"template": repeated(`{{`)} }},
	"a number of many digits": {1, "input", func(int) map[string]any {
		return obj{"name": "a", "type": "number", "default": json.Number(strings.Repeat("9", mebibyte)), "max": json.Number("1")}
	}},
	"numbers of great magnitude": {1, "input", func(int) map[string]any {
		return obj{"name": "a", "type": "number", "default": json.Number("1e999999999"), "enum": list{json.Number("2e999999999"), json.Number("1e-999999999")}}
	}},
	"secrets": {1, "http_request", func(int) map[string]any {
		return obj{"url": "https://a.example", "body": repeated("token=aaaaaaaaaaaaaaaa&")}
	}},
}

// names2 returns n schemas of one value each.
func names2(n int) (list []any) {
	for i := range n {
		list = append(list, obj{"const": i})
	}
	return list
}

// texts returns a list of texts.
func texts(l []any) (list []string) {
	for _, item := range l {
		list = append(list, item.(string))
	}
	return list
}

// TestDocuments_bound_work proves that no document of 1 MiB takes more than a second of CPU time to
// be read and validated.
func TestDocuments_bound_work(t *testing.T) {
	t.Parallel()
	need.Time(t)
	kinds := New(Deps{})
	for name, c := range hostileDocuments {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := list{}
			for i := range c.nodes {
				nodes = append(nodes, obj{"id": fmt.Sprint("n", i), "kind": c.kind, "config": c.config(i)})
			}
			data, err := json.Marshal(obj{"schema": flow.Schema, "name": "x", "nodes": nodes, "edges": list{}})
			if err != nil {
				t.Fatal(err)
			}
			flowtest.CheckCPU(t, func() {
				d, problems := document.ParseDocument(data)
				if d == nil {
					t.Fatal(problems)
				}
				document.Validate(d, kinds)
				document.HasLiteralSecrets(d, kinds)
			})
		})
	}
}

// TestEdits_bound_work proves that no transaction takes more than a second of CPU time, however
// many fields of a large node it sets.
func TestEdits_bound_work(t *testing.T) {
	t.Parallel()
	need.Time(t)
	kinds := New(Deps{})
	var schema any = obj{"type": "string"}
	for len(flow.EncodeJSON(schema)) < 60_000 {
		schema = obj{"type": "object", "properties": obj{"a": schema}, "anyOf": list{schema}}
	}
	secrets := obj{}
	for i := range 20_000 {
		secrets[fmt.Sprint("password", i)] = fmt.Sprintf("%020d", i)
	}
	for name, c := range map[string]struct {
		node flow.Node
		ops  int
		op   func(i int) document.Edit
	}{
		"fields of a node with a large schema": {flow.Node{ID: "n", Kind: "chat", Config: obj{"schema": schema}}, document.MaxEdits, func(i int) document.Edit {
			return document.Edit{Op: document.OpSet, Node: "n", Field: "prompt", Value: fmt.Sprint(i)}
		}},
		"many secrets": {flow.Node{ID: "n", Kind: "http_request", Config: obj{"url": "https://a.example"}}, 1, func(int) document.Edit {
			return document.Edit{Op: document.OpSet, Node: "n", Field: "headers", Value: secrets}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &flow.Document{Schema: flow.Schema, Name: "x", Nodes: []flow.Node{c.node}}
			var ops []document.Edit
			for i := range c.ops {
				ops = append(ops, c.op(i))
			}
			flowtest.CheckCPU(t, func() {
				if _, _, err := document.ApplyAndExtract(d, ops, kinds, func(*document.ExtractedSecret) string { return "x" }); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestCompare_bounds_work proves that comparing inputs with as many allowed values as a document
// holds takes less than a second of CPU time.
func TestCompare_bounds_work(t *testing.T) {
	t.Parallel()
	need.Time(t)
	kinds := New(Deps{})
	version := func() *flow.Document {
		return &flow.Document{Schema: flow.Schema, Name: "x", Nodes: []flow.Node{{ID: "a", Kind: "input", Config: obj{"name": "a", "enum": names("v")}}}}
	}
	old, now := version(), version()
	flowtest.CheckCPU(t, func() {
		if d := document.Compare(old, now, kinds); !d.Empty() {
			t.Errorf("got %v", d.Sentences())
		}
	})
}

// TestSteps_bound_work proves that no value of 1 MiB takes more than a second of CPU time in the
// nodes that compute in this process. The neural models are left out: their time is
// proportional to the text, and they take turns.
func TestSteps_bound_work(t *testing.T) {
	t.Parallel()
	need.Time(t)
	kinds := New(Deps{Model: builtin.New()})
	dense, _ := flow.DecodeJSON([]byte("[" + strings.Repeat(`{"a":1},`, mebibyte/8-1) + "{}]"))
	for name, c := range map[string]struct {
		kind          string
		config, ports map[string]any
	}{
		"split into overlapping chunks": {"split", obj{"by": splitCharacters, "text": repeated("a"), "size": flow.Number(50), "overlap": flow.Number(49)}, nil},
		"split at blank lines":          {"split", obj{"by": splitParagraphs, "text": repeated("\n ")}, nil},
		"first JSON in open brackets":   {"extract", obj{"by": extractJSON}, obj{"from": repeated(`{"a":`)}},
		"first JSON in fences":          {"extract", obj{"by": extractJSON}, obj{"from": repeated("```\n{")}},
		"path of descendants":           {"extract", obj{"by": extractPath, "path": "$..*..*..*"}, obj{"from": dense}},
		"path with counting filter":     {"extract", obj{"by": extractPath, "path": "$[?count($..*) > 1]"}, obj{"from": dense}},
		"path with pattern":             {"extract", obj{"by": extractPath, "path": "$..[?match(@.a, '(a?)+')]"}, obj{"from": dense}},
		"condition of all pairs":        {"condition", obj{"expression": "value.all(x, value.all(y, x == y))"}, obj{"value": dense}},
		"condition that grows":          {"condition", obj{"expression": "value + value + value == value"}, obj{"value": dense}},
		"condition with pattern":        {"condition", obj{"expression": "value.matches('(a?){300}b')"}, obj{"value": repeated("a")}},
		"condition of times":            {"condition", obj{"expression": "timestamp(value) > timestamp(value)"}, obj{"value": repeated("\x00")}},
		"condition of numbers":          {"condition", obj{"expression": "int(value) > 1"}, obj{"value": repeated("9")}},
		"switch of a large value":       {"switch", obj{"cases": list{"a", "b", "c", "d"}}, obj{"value": dense, "on": dense}},
		"sentiment":                     {"sentiment", obj{"text": strings.Repeat("not very good but ", 11_000)}, nil},
		"language":                      {"detect_language", obj{"text": strings.Repeat("а ", 60_000)}, nil},
		"replacement that ignores case": {"replace", obj{"text": repeated("a"), "find": strings.Repeat("a", 1000), "replacement": "b", "ignore_case": true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &flow.Node{ID: "n", Kind: c.kind, Config: c.config}
			k, config := kinds.For(n), map[string]any{}
			for i := range k.Fields {
				if v, has := k.Fields[i].ValueOrDefault(n); has {
					config[k.Fields[i].Name] = v
				}
			}
			flowtest.CheckCPU(t, func() {
				if _, err := k.Run(context.Background(), &flow.In{Node: "n", Config: config, Ports: c.ports}); err != nil && flow.AsError(err).Code == flow.CodeInternal {
					t.Error(err)
				}
			})
		})
	}
}
