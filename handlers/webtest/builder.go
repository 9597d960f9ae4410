package webtest

// SampleFlow has an input, a node with a template, a branch and an output.
const SampleFlow = `{"schema": "sluice.flow/v1", "name": "Answer a ticket", "nodes": [
	{"id": "ticket", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "ticket", "type": "text"}},
	{"id": "team", "kind": "classify", "label": "Which team", "position": {"x": 300, "y": 0}, "config": {"labels": ["billing", "shipping"]}},
	{"id": "reply", "kind": "template", "position": {"x": 600, "y": 0}, "config": {"template": "Hello, {{team}}."}},
	{"id": "answer", "kind": "output", "position": {"x": 900, "y": 0}, "config": {"name": "answer"}}
], "edges": [
	{"from": "ticket.value", "to": "team.text"}, {"from": "team.label", "to": "reply.team"}, {"from": "reply.text", "to": "answer.value"}
]}`
