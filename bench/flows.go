package main

import (
	"encoding/json"
	"fmt"
)

// object is a JSON object.
type object = map[string]any

// document returns a flow document. Edges are given in pairs, from and to, each as
// node.port.
func document(name string, nodes []object, edges ...string) []byte {
	list := []object{}
	for i := 0; i < len(edges); i += 2 {
		list = append(list, object{"from": edges[i], "to": edges[i+1]})
	}
	data, err := json.Marshal(object{"schema": "sluice.flow/v1", "name": name, "nodes": nodes, "edges": list})
	if err != nil {
		panic(err)
	}
	return data
}

// node returns a node of a flow document.
func node(id, kind string, config object) object {
	return object{"id": id, "kind": kind, "config": config}
}

// nameInput returns the text input of all flows. Callers give a different name in each run,
// so that a response can be matched with its request.
func nameInput() object { return node("name", "input", object{"name": "name", "type": "text"}) }

// textOutput returns the text output of all flows.
func textOutput() object { return node("out", "output", object{"name": "text"}) }

// greeting returns the smallest useful flow: input, template, output.
func greeting() []byte {
	return document("Greet", []object{nameInput(), node("greet", "template", object{"template": "Hello {{name}}!"}), textOutput()},
		"name.value", "greet.name", "greet.text", "out.value")
}

// calling returns the flow input, HTTP request, output. Its time limit is long because the
// row queue calls a service that never responds.
func calling(url string) []byte {
	call := node("call", "http_request", object{"method": "POST", "url": url, "body": object{"name": "{{name}}"}})
	call["timeout_s"] = 3600
	return document("Call", []object{nameInput(), call, textOutput()},
		"name.value", "call.name", "call.body", "out.value")
}

// chain returns a flow that passes the name through templates one after the other, so each
// step waits for the one before it.
func chain(templates int) []byte {
	nodes, edges := []object{nameInput(), textOutput()}, []string{}
	from := "name.value"
	for i := range templates {
		id := fmt.Sprintf("t%d", i)
		nodes = append(nodes, node(id, "template", object{"template": "{{x}}"}))
		edges = append(edges, from, id+".x")
		from = id + ".text"
	}
	return document("Chain", nodes, append(edges, from, "out.value")...)
}

// fan returns a flow that passes the name to templates in parallel, and the first result
// to the output. All steps become ready at once.
func fan(templates int) []byte {
	nodes, edges := []object{nameInput(), textOutput(), node("first", "first_of", object{})}, []string{}
	for i := range templates {
		id := fmt.Sprintf("t%d", i)
		nodes = append(nodes, node(id, "template", object{"template": "{{x}}"}))
		edges = append(edges, "name.value", id+".x", id+".text", "first.values")
	}
	return document("Fan", nodes, append(edges, "first.value", "out.value")...)
}
