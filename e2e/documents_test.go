package e2e

import (
	"encoding/json"
	"strings"
)

// node is a node of a document; settings are members beside its config, such
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

// input is a text input whose node and name are the same.
func input(name string) object {
	return node(name, "input", object{"name": name, "type": "text"})
}

// output is an output whose node is called out_ and its name.
func output(name string) object {
	return node("out_"+name, "output", object{"name": name})
}

// post is an HTTP node that posts {"n": …} and carries the execution key.
func post(id, url string, settings ...object) object {
	return node(id, "http_request", object{"method": "POST", "url": url, "body": object{"n": "{{n}}"}}, settings...)
}

// document writes a flow; edges are written "a.value > b.text".
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

// greeting is the smallest flow: name in, greeting out, nothing outside.
func greeting() []byte {
	return documentOf("Greet", []object{
		input("name"), node("greet", "template", object{"template": "Hello {{name}}!"}), output("text"),
	}, "name.value > greet.name", "greet.text > out_text.value")
}

// calling is a flow that posts n to a URL and gives back the answer.
func calling(url string, settings ...object) []byte {
	return documentOf("Call", []object{input("n"), post("call", url, settings...), output("got")},
		"n.value > call.n", "call.body > out_got.value")
}
