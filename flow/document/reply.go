package document

import (
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
)

// Reply returns the output that answers a chat: the one marked as reply, else the one named
// reply, else the first text output, else the first output. It returns false if the flow has no
// outputs.
func Reply(d *flow.Document, kinds *flow.Registry) (contract.Output, bool) {
	outputs := contract.Outputs(d, kinds)
	for _, answers := range []func(contract.Output) bool{
		func(o contract.Output) bool { return o.Reply },
		func(o contract.Output) bool { return o.Name == "reply" },
		func(o contract.Output) bool { return isTextOutput(d, kinds, o) },
		func(contract.Output) bool { return true },
	} {
		if i := slices.IndexFunc(outputs, answers); i >= 0 {
			return outputs[i], true
		}
	}
	return contract.Output{}, false
}

// isTextOutput reports whether all ports that are connected to an output have the type text.
func isTextOutput(d *flow.Document, kinds *flow.Registry, o contract.Output) bool {
	edges := edgesInto(d, o)
	return len(edges) > 0 && !slices.ContainsFunc(edges, func(e flow.Edge) bool { return d.EdgeType(e, kinds) != flow.TypeText })
}

// edgesInto returns the edges that end at an output.
func edgesInto(d *flow.Document, o contract.Output) (list []flow.Edge) {
	for _, e := range d.Edges {
		if e.ToNode() == o.Node {
			list = append(list, e)
		}
	}
	return list
}

// TextSources maps the names of outputs to the nodes whose port text is their only source. Such an
// output can be streamed while its node runs.
func TextSources(d *flow.Document, outputs []contract.Output) map[string]string {
	sources := map[string]string{}
	for _, o := range outputs {
		if edges := edgesInto(d, o); len(edges) == 1 && strings.HasSuffix(edges[0].From, ".text") {
			sources[o.Name] = strings.TrimSuffix(edges[0].From, ".text")
		}
	}
	return sources
}

// SpeakingAgents returns the nodes whose text is what they say in all of their turns. Those with a schema answer with a
// value only.
func SpeakingAgents(d *flow.Document, kinds *flow.Registry) map[string]bool {
	agents := map[string]bool{}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if k := kinds.Find(n.Kind); k != nil && k.Expand != nil && n.Config["schema"] == nil {
			agents[n.ID] = true
		}
	}
	return agents
}
