package engine

import (
	"fmt"
	"math/rand/v2"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/flowtest"
)

// drawing builds random documents that are valid by construction.
type drawing struct {
	rng     *rand.Rand
	d       *flow.Document
	texts   []string // output ports of type text
	any     []string // all output ports
	outputs []string // names of output nodes
	fatal   bool     // one node fails the run permanently
}

// randomDocument builds chains, fans, diamonds, branches, joins and webhooks.
func randomDocument(rng *rand.Rand) *flow.Document {
	w := &drawing{rng: rng, d: &flow.Document{Schema: flow.Schema, Name: "random"}}
	for range 1 + rng.IntN(3) {
		id := w.add("input", map[string]any{"name": w.id()})
		w.gives(id+".value", true)
	}
	w.fatal = rng.IntN(6) > 0 // so that one in six may still draw it
	size := 1 + rng.IntN(9)
	if rng.IntN(20) == 0 {
		size += 40
	}
	for range size {
		w.draw()
	}
	for range 1 + rng.IntN(3) {
		name := w.id()
		id := w.add("output", map[string]any{"name": name})
		w.connect(w.pick(w.any), id+".value")
		w.outputs = append(w.outputs, name)
	}
	for range rng.IntN(3) {
		w.hook()
	}
	return w.d
}

func (w *drawing) id() string { return fmt.Sprintf("n%d", len(w.d.Nodes)) }

func (w *drawing) add(kind string, config map[string]any) string {
	n := flow.Node{ID: w.id(), Kind: kind, Config: config, Disabled: w.rng.IntN(25) == 0}
	w.d.Nodes = append(w.d.Nodes, n)
	return n.ID
}

func (w *drawing) gives(port string, text bool) {
	w.any = append(w.any, port)
	if text {
		w.texts = append(w.texts, port)
	}
}

func (w *drawing) connect(from, to string) {
	w.d.Edges = append(w.d.Edges, flow.Edge{From: from, To: to})
}

// pick prefers recent ports, which builds chains, and sometimes takes any, which builds fans
// and diamonds.
func (w *drawing) pick(ports []string) string {
	if n := len(ports); w.rng.IntN(2) == 0 {
		return ports[n-1-w.rng.IntN(min(n, 3))]
	}
	return ports[w.rng.IntN(len(ports))]
}

func (w *drawing) draw() {
	switch w.rng.IntN(10) {
	case 3:
		w.waits()
	case 4:
		w.loop()
	case 0:
		id := w.add(w.pick([]string{"ask", "gate"}), map[string]any{"take": w.pick([]string{"yes", "no", "text"})})
		w.connect(w.pick(w.any), id+".value")
		w.gives(id+".yes", false)
		w.gives(id+".no", false)
	case 1:
		id := w.add(w.pick([]string{"first", "race"}), nil)
		for range 1 + w.rng.IntN(4) {
			w.connect(w.pick(w.any), id+".values")
		}
		w.gives(id+".value", false)
	case 2:
		id := w.add("fill", map[string]any{"template": "{{a}} and {{b}}"})
		w.connect(w.pick(w.any), id+".a")
		w.connect(w.pick(w.any), id+".b")
		w.gives(id+".text", true)
	default:
		w.work()
	}
}

// loop adds a node with sub-steps. One that is strict may fail the run.
func (w *drawing) loop() {
	config := map[string]any{"rounds": flow.Number(1 + w.rng.IntN(4)), "calls": flow.Number(w.rng.IntN(4)), "seed": flow.Number(w.rng.IntN(1000))}
	id := w.add("loop", config)
	for range w.rng.IntN(3) {
		w.connect(w.pick(w.any), id+".values")
	}
	if n := &w.d.Nodes[len(w.d.Nodes)-1]; w.rng.IntN(3) == 0 {
		config["strict"] = true
		switch {
		case !w.fatal:
			w.fatal = true
		default:
			n.OnError = &flow.OnError{Continue: map[string]any{"text": "instead"}}
		}
	}
	if n := &w.d.Nodes[len(w.d.Nodes)-1]; w.rng.IntN(6) == 0 {
		n.TimeoutS, n.OnError = []float64{1, 20, 40, 700}[w.rng.IntN(4)], &flow.OnError{Continue: map[string]any{"text": "late"}}
	}
	w.gives(id+".text", true)
}

func (w *drawing) work() {
	config := map[string]any{}
	id := w.add(w.pick([]string{"note_down", "think", "call", "call", "job"}), config)
	for range w.rng.IntN(4) {
		w.connect(w.pick(w.any), id+".values")
	}
	if w.rng.IntN(4) == 0 {
		w.connect(w.pick(w.texts), id+".text")
	}
	if w.rng.IntN(5) == 0 {
		config["pauses"], config["pause_s"] = flow.Number(1+w.rng.IntN(2)), flow.Number([]int{0, 5, 29, 31, 600, 86400}[w.rng.IntN(6)])
	}
	if w.d.Nodes[len(w.d.Nodes)-1].Kind == "job" && w.rng.IntN(2) == 0 {
		config["forgets"] = true
	}
	if w.rng.IntN(3) == 0 {
		w.fail(&w.d.Nodes[len(w.d.Nodes)-1])
	}
	w.gives(id+".text", true)
}

// fail makes a node fail, temporarily or permanently.
func (w *drawing) fail(n *flow.Node) {
	attempts := 1 + w.rng.IntN(3)
	if attempts > 1 {
		n.Retry = &flow.Retry{Attempts: attempts, BackoffS: []float64{0, 1, 20, 40}[w.rng.IntN(4)]}
	}
	n.Config["fails"] = flow.Number(attempts - 1)
	switch w.rng.IntN(4) {
	case 0:
		n.Config["fails"] = flow.Number(attempts)
		n.OnError = &flow.OnError{Route: true}
		w.gives(n.ID+"."+flow.ErrorPort, false)
	case 1:
		n.Config["fails"] = flow.Number(attempts)
		n.OnError = &flow.OnError{Continue: map[string]any{}}
		if w.rng.IntN(2) == 0 {
			n.OnError.Continue["text"] = "instead"
		}
	case 2:
		if !w.fatal {
			w.fatal = true
			n.Config["fails"] = flow.Number(attempts)
		}
	}
}

func (w *drawing) hook() {
	config := map[string]any{"url": "https://example.com"}
	id := w.add(w.pick([]string{"hook", "tell"}), config)
	if w.rng.IntN(2) == 0 {
		var chosen []any
		for _, name := range w.outputs {
			if n := w.d.Node(outputNode(w.d, name)); w.rng.IntN(2) == 0 && !n.Disabled {
				chosen = append(chosen, name)
			}
		}
		config["outputs"] = chosen
	}
	if w.rng.IntN(4) == 0 {
		w.connect(w.pick(w.texts), id+".url")
	}
	n := &w.d.Nodes[len(w.d.Nodes)-1]
	n.Disabled = n.Disabled || len(contract.Outputs(w.d, flowtest.Kinds)) == 0 || config["outputs"] != nil && len(config["outputs"].([]any)) == 0
	if config["outputs"] != nil && len(config["outputs"].([]any)) == 0 {
		delete(config, "outputs")
	}
}

func outputNode(d *flow.Document, name string) string {
	for i := range d.Nodes {
		if n := &d.Nodes[i]; n.Kind == "output" && flow.NameOf(n) == name {
			return n.ID
		}
	}
	return ""
}
