package flowtest

import (
	"encoding/json"
	"strings"

	"sluice/flow"
)

// Document returns the JSON of a document from lines: "id kind {config} {other fields}"
// for a node, "a.port -> b.port" for an edge.
func Document(lines string) []byte {
	nodes, edges := []any{}, []any{}
	for line := range strings.Lines(lines) {
		if from, to, isEdge := strings.Cut(line, "->"); isEdge {
			edges = append(edges, map[string]any{"from": strings.TrimSpace(from), "to": strings.TrimSpace(to)})
			continue
		}
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		_, rest, _ := strings.Cut(line, words[1])
		node := map[string]any{"id": words[0], "kind": words[1]}
		var config map[string]any
		values := json.NewDecoder(strings.NewReader(rest))
		if values.Decode(&config) == nil {
			node["config"] = config
			_ = values.Decode(&node) // other fields of the node are optional
		}
		nodes = append(nodes, node)
	}
	return flow.EncodeJSON(map[string]any{"schema": flow.Schema, "name": "test", "nodes": nodes, "edges": edges})
}

// DecodedMap is Decoded for an object, without the order of its members. It returns nil for other
// values.
func DecodedMap(data []byte) map[string]any {
	m, _ := flow.AsMap(Decoded(data))
	return m
}

// DecodedObject is Decoded for an object. It returns nil for other values.
func DecodedObject(data []byte) *flow.Object {
	o, _ := flow.AsObject(Decoded(data))
	return o
}

// Decoded parses JSON from a store. It panics if the JSON is invalid, which is a bug in
// the store.
func Decoded(data []byte) any {
	if string(data) == "null" {
		return nil // the usual case, handled without decoding
	}
	v, err := flow.DecodeJSON(data)
	if err != nil {
		panic(err)
	}
	return v
}
