package agents

import (
	"slices"
	"strings"

	"sluice/flow"
	"sluice/providers"
)

// mayReach returns why a call may not reach the address that the model chose; "" if it may.
func (a *agent) mayReach(c *agentCall, config map[string]any) string {
	k, n := c.tool.Kind, c.tool.Node
	if hosts := n.Tool.Hosts; len(hosts) > 0 && k.Tool.Offers == nil { // the host of a server is known when it is called
		if !slices.ContainsFunc(hosts, func(host string) bool { return flow.IsHost(host, c.destination) }) {
			return "This tool must not reach the host " + c.destination + ". It may reach " + strings.Join(hosts, ", ") + "."
		}
	}
	if k.Tool == nil || !k.Tool.Cites || !slices.ContainsFunc(c.tool.Open, func(p flow.Port) bool { return p.Name == k.Sends.Field }) {
		return ""
	}
	if url := strings.TrimSpace(flow.Text(config[k.Sends.Field])); !a.cites(url) {
		return "This tool opens only addresses that stand in the question or in a result, exactly as they stand there. This one does not: " + url
	}
	return ""
}

// cites reports whether a URL stands in the inputs of the agent, or in the prompts and results of the conversation.
func (a *agent) cites(url string) bool {
	for _, field := range []string{"prompt", "system"} {
		if strings.Contains(a.in.Text(field), url) {
			return true
		}
	}
	if messages := a.in.Config["messages"]; messages != nil && strings.Contains(string(flow.EncodeJSON(messages)), url) {
		return true
	}
	for i := range a.earlier {
		e := &a.earlier[i]
		if !e.fromModel() && (strings.Contains(e.Text, url) || e.Result != nil && strings.Contains(e.Result.Text, url)) {
			return true
		}
	}
	return slices.ContainsFunc(a.whole, func(item providers.Item) bool { return item.Result != nil && strings.Contains(item.Result.Text, url) })
}
