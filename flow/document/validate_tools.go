package document

import (
	"slices"
	"strings"

	"sluice/flow"
)

// toolEdge reports an edge from a port that a node lacks because of its tool setting. It returns
// false if the port is missing for another reason.
func (v *validator) toolEdge(at string, place int, port string) bool {
	n := &v.d.Nodes[place]
	switch {
	case n.Tool != nil:
		v.add(at, "tool", n.ID, "%s is a tool, so only an agent gets its results. Connect its port Tool, or remove its tool setting.", v.titles[place])
	case port == flow.ToolPort && v.shaped[place].Tool != nil:
		v.add(at, "tool", n.ID, "%s is not a tool yet. Describe it under Tool, so that the agent knows when to call it.", v.titles[place])
	case port == flow.ToolPort:
		v.add(at, "tool", n.ID, "%s cannot be a tool.", v.titles[place])
	default:
		return false
	}
	return true
}

// tool checks the setting of a node that is a tool.
func (v *validator) tool(i int, n *flow.Node, k *flow.Kind) {
	at := flow.Pointer("nodes", i, "tool")
	v.below(at, n.ID, flow.CheckTool(n, k, func(port string) bool { return v.fed[n.ID][port] }))
	v.condition(i, n, k)
	if n.OnError != nil {
		v.add(flow.Pointer("nodes", i, "on_error"), "tool", n.ID, "A tool has no error branch. Choose under Tool what happens if a call fails.")
	}
	if n.Disabled || k.Tool == nil {
		return
	}
	used := false
	for _, e := range v.d.Edges {
		used = used || e.From == n.ID+"."+flow.ToolPort
	}
	if !used {
		v.add(at, "tool", n.ID, "%s is a tool of no agent. Connect its port Tool to one, or remove its tool setting.", v.titles[i])
	}
	if k.Sends == nil {
		return
	}
	for _, sent := range SentCredentials(n, k) {
		to := FieldDestination(k, k.Field(sent.Field))
		if _, open := FindDestination(v.d, n, to); open && !v.fed[n.ID][to.Field] {
			v.add(flow.Pointer("nodes", i, "config", sent.Field), "tool", n.ID,
				"The model would choose the host that gets the credential %q. Type the host into %s.", sent.Credential, to.Field)
		}
	}
}

// condition checks the condition under which people are asked before a call.
func (v *validator) condition(i int, n *flow.Node, k *flow.Kind) {
	condition := n.Tool.Approval
	if slices.Contains([]string{"", flow.ApprovalAuto, flow.ApprovalAlways, flow.ApprovalNever}, condition) || v.kinds.CheckCondition == nil || k.Tool == nil {
		return
	}
	var names []string
	isFed := func(port string) bool { return v.fed[n.ID][port] }
	for _, offer := range flow.ToolOffers(n, k, flow.OpenPorts(n, k, isFed), isFed) {
		properties, _ := flow.AsObject(offer.Schema.Get("properties"))
		names = append(names, properties.Names()...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if err := v.kinds.CheckCondition(condition, names); err != nil {
		v.add(flow.Pointer("nodes", i, "tool", "approval"), string(flow.CodeExpressionFailed), n.ID,
			"Ask first is auto, always, never, or a condition over what the model fills (%s). %s", strings.Join(names, ", "), flow.AsError(err).Message)
	}
}

// readResult is the name of the tool that every agent has, for results that were cut.
const readResult = "read_result"

// tools checks the tools of each agent together.
func (v *validator) tools() {
	agents := map[string][]int{} // tools by node and port
	var order []string
	for _, e := range v.d.Edges {
		from, port := e.Source()
		place, known := v.nodes[from]
		if !known || port != flow.ToolPort || v.d.Nodes[place].Tool == nil || v.d.Nodes[place].Disabled || v.shaped[place] == nil || v.shaped[place].Tool == nil {
			continue
		}
		if agents[e.To] == nil {
			order = append(order, e.To)
		}
		agents[e.To] = append(agents[e.To], place)
	}
	for _, agent := range order {
		v.toolsOf(agent, agents[agent])
	}
}

// toolsOf checks the names and the size of the tools of one agent.
func (v *validator) toolsOf(agent string, places []int) {
	id, _ := flow.SplitPort(agent)
	if len(places) > flow.MaxTools {
		v.add("/edges", "too_many", id, "An agent has at most %d tools; this one has %d.", flow.MaxTools, len(places))
		return
	}
	names, size, count := map[string]int{}, 0, 0
	for _, place := range places {
		n, k := &v.d.Nodes[place], v.shaped[place]
		isFed := func(port string) bool { return v.fed[n.ID][port] }
		at := flow.Pointer("nodes", place, "tool", "name")
		for _, offer := range flow.ToolOffers(n, k, flow.OpenPorts(n, k, isFed), isFed) {
			other, twice := names[offer.Name]
			switch {
			case twice && other != place && k.Tool.Offers != nil:
				v.add(at, "duplicate", n.ID, "%s has a tool %q already. Give %s a tool name: it begins the names of all its tools.", v.titles[other], offer.Name, v.titles[place])
			case twice && other != place:
				v.add(at, "duplicate", n.ID, "%s has the name %q already. Give each tool of an agent a name of its own.", v.titles[other], offer.Name)
			case twice:
				v.add("/edges", "duplicate", n.ID, "%s is connected to the agent twice.", v.titles[place])
			case offer.Name == readResult:
				v.add(at, "reserved", n.ID, "%q is the name of a tool that every agent has. Choose another.", offer.Name)
			}
			names[offer.Name] = place
			size += len(offer.Name) + len(offer.Description) + len(flow.EncodeJSON(offer.Schema))
			count++
		}
	}
	if count > flow.MaxTools {
		v.add("/edges", "too_many", id, "An agent has at most %d tools; this one has %d.", flow.MaxTools, count)
	}
	if size > flow.MaxToolSchemas {
		v.add("/edges", "too_large", id, "The names, descriptions and parameters of the tools have %s; the limit is %s. Shorten them, or connect fewer tools.",
			flow.Size(int64(size)), strings.TrimSpace(flow.Size(flow.MaxToolSchemas)))
	}
}
