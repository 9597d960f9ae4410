package e2e

import (
	"encoding/json"
	"strings"
)

// node returns a node of a flow document. Settings are members next to its config, such
// as retry.
func node(id, kind string, config object, settings ...object) object {
	n := object{"id": id, "kind": kind, "config": config}
	for _, s := range settings {
		for name, v := range s {
			n[name] = v
		}
	}
	return n
}

// input returns a text input. Its node ID and its name are the same.
func input(name string) object {
	return node(name, "input", object{"name": name, "type": "text"})
}

// output returns an output. Its node ID is out_ and its name.
func output(name string) object {
	return node("out_"+name, "output", object{"name": name})
}

// post returns an HTTP node that posts {"n": …} and sends the execution key.
func post(id, url string, settings ...object) object {
	return node(id, "http_request", object{"method": "POST", "url": url, "body": object{"n": "{{n}}"}}, settings...)
}

// documentOf returns a flow document. Edges are written "a.value > b.text".
func documentOf(name string, nodes []object, edges ...string) []byte {
	list := []object{}
	for _, e := range edges {
		from, to, _ := strings.Cut(e, " > ")
		list = append(list, object{"from": from, "to": to})
	}
	data, err := json.Marshal(object{"schema": "sluice.flow/v1", "name": name, "nodes": nodes, "edges": list})
	if err != nil {
		panic(err)
	}
	return data
}

// greeting returns the smallest useful flow: a name in, a greeting out, no calls.
func greeting() []byte {
	return documentOf("Greet", []object{
		input("name"), node("greet", "template", object{"template": "Hello {{name}}!"}), output("text"),
	}, "name.value > greet.name", "greet.text > out_text.value")
}

// calling returns a flow that posts n to a URL and outputs the response.
func calling(url string, settings ...object) []byte {
	return documentOf("Call", []object{input("n"), post("call", url, settings...), output("got")},
		"n.value > call.n", "call.body > out_got.value")
}
