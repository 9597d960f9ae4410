package agents

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/flow/wording"
	"sluice/providers"
)

// Fields of an agent that say whom it asks before a call.
const (
	AskAudience = "ask_audience"
	AskPeople   = "ask_people"
	AskExpires  = "ask_expires_after"
	AskURL      = "ask_url"
	AskAfter    = "ask_after_untrusted"
)

// AskNamed is the option of AskAudience for the members in AskPeople. All others ask all members.
const AskNamed = "named members"

// AskFields are these fields.
var AskFields = []flow.Field{
	{Name: AskAudience, Title: "Who may allow calls", Type: flow.FieldSelect, Typed: true, Options: []string{"members", AskNamed}, Default: "members", More: true,
		Help: "Before a call that needs it. Members, and keys with the scope approve that are not related to the key that started the run."},
	{Name: AskPeople, Title: "Named members", Type: flow.FieldList, Typed: true, More: true, Help: "Email addresses of the members who may allow calls."},
	{Name: AskExpires, Title: "Question expires after", Type: flow.FieldText, Typed: true, Default: "24h", More: true, Help: "Time to answer, such as 90m, 12h or 7d. Then the call is not made."},
	{Name: AskURL, Title: "Webhook URL for questions", Type: flow.FieldText, Typed: true, More: true, Help: "Where to send questions with their link, such as a chat channel."},
	{Name: AskAfter, Title: "Ask after untrusted content", Type: flow.FieldBoolean, Typed: true, Default: true, More: true,
		Help: "Asks people before a call that changes something, once the conversation has content from a form, a web page or another service."},
}

// maxReason is the length of the reason of a model, in characters.
const maxReason = 1000

// askSuffix follows the name of a call in the name of the step that asks about it.
const askSuffix = flow.SubSeparator + "ask"

// asks reports whether people must allow a call. It follows from earlier turns and the call alone.
func (a *agent) asks(c *agentCall, arguments *flow.Object) bool {
	if len(a.wider[c.tool.Node.ID]) > 0 {
		return true
	}
	switch t := c.tool.Node.Tool; t.Approval {
	case flow.ApprovalAlways:
		return true
	case flow.ApprovalNever:
		return false
	case "", flow.ApprovalAuto:
		if c.tool.offer.Effect != flow.EffectWrite || !a.untrusted || a.in.Config[AskAfter] == false {
			return false
		}
	default:
		variables := map[string]any{}
		properties, _ := flow.AsObject(c.tool.offer.Schema.Get("properties"))
		for name := range properties.All() {
			variables[name] = arguments.Get(name)
		}
		if asks, err := a.Test(t.Approval, variables); err == nil && !asks {
			return false
		}
	}
	to, all := a.allowed[c.Name]
	return !all || to != c.destination
}

// askStep returns the step that asks people about a call.
func (a *agent) askStep(c *agentCall, arguments *flow.Object, reason string) flow.SubStep {
	node := c.tool.Node
	title := node.Label
	if title == "" || c.tool.offer.Port != "" { // the node stands for several tools
		title = c.Name
	}
	q := flow.Question{Title: "Allow " + title + "?", Audience: flow.AudienceMembers}
	if a.in.Text(AskAudience) == AskNamed {
		q.Audience = flow.AudienceNamed
		people, _ := a.in.Config[AskPeople].([]any)
		for _, p := range people {
			q.People = append(q.People, flow.Text(p))
		}
	}
	for name, v := range arguments.All() {
		q.Values = append(q.Values, flow.ApprovalValue{Name: name, Value: v, Editable: slices.Contains(node.Tool.Editable, name)})
	}
	q.Call = &flow.AskedCall{
		Node: node.ID, Tool: c.Name, Effect: c.tool.offer.Effect, Destination: c.destination, Bound: c.tool.Bound,
		Reason: wording.Truncate(strings.TrimSpace(reason), maxReason), Schema: c.tool.Parameters,
		Untrusted: a.untrusted, All: node.Tool.Approval != flow.ApprovalAlways && len(a.wider[node.ID]) == 0, Wider: a.wider[node.ID],
	}
	return flow.SubStep{
		Name: c.name + askSuffix, Kind: a.Ask, Config: map[string]any{"expires_after": a.in.Config[AskExpires], "url": a.in.Config[AskURL]},
		Ports: map[string]any{Port: &q}, Input: map[string]any{"tool": c.Name, "node": node.ID, "arguments": arguments},
		InputHash: value.Hash([]any{a.hash, c.Name, c.tool.Hash, arguments}), Untrusted: a.untrusted,
	}
}

// Approved returns the outputs of a step that asked about a call.
func Approved(q *flow.Question, d *flow.Decision) map[string]any {
	arguments, changed := q.Arguments(d), &flow.Object{}
	for name, v := range arguments.All() {
		if _, edited := d.Values[name]; edited {
			changed.Set(name, v)
		}
	}
	return map[string]any{
		"outcome": string(d.Outcome), "arguments": arguments, "changed": changed, "hash": approvalHash(q.Call.Tool, arguments),
		"comment": d.Comment, "by": d.By.Name, "all": d.All,
	}
}

// approvalHash identifies a call that was approved.
func approvalHash(tool string, arguments *flow.Object) string {
	return value.Hash([]any{tool, value.Plain(arguments)})
}

// decided takes over a decision. It returns the arguments of an approved call, which may differ from those of the
// model; nil for a call that is not made.
func (c *agentCall) decided(r *flow.SubResult) (*flow.Object, error) {
	if r.Error != nil {
		c.deny("failed", "A person must allow this call, and could not be asked: "+wording.Truncate(r.Error.Message, maxToolError))
		return nil, nil
	}
	comment := ""
	if text := flow.Text(r.Outputs["comment"]); text != "" {
		comment = " Their comment: " + text
	}
	c.outcome = flow.Outcome(flow.Text(r.Outputs["outcome"]))
	switch c.outcome {
	case flow.OutcomeApproved:
	case flow.OutcomeExpired:
		c.deny("expired", "A person must allow this call. Nobody answered in time, so it was not made.")
		return nil, nil
	default:
		c.deny("rejected", "A person rejected this call, so it was not made."+comment)
		return nil, nil
	}
	arguments, _ := flow.AsObject(r.Outputs["arguments"])
	if arguments == nil || approvalHash(c.Name, arguments) != r.Outputs["hash"] {
		return nil, flow.Errorf(flow.CodeInternal, "The approval of %s does not belong to this call.", c.name)
	}
	c.all = r.Outputs["all"] == true
	if changed, _ := flow.AsObject(r.Outputs["changed"]); changed.Len() > 0 {
		c.note = fmt.Sprintf("[A person allowed this call with other arguments: %s.%s]\n", flow.EncodeJSON(arguments), comment)
	} else if comment != "" {
		c.note = "[A person allowed this call." + comment + "]\n"
	}
	return arguments, nil
}

// deny ends a call that people did not allow.
func (c *agentCall) deny(state, text string) { c.state, c.failed, c.text = state, true, text }

// allow notes that people have allowed all calls of a tool. That ends with the next content from outside.
func (a *agent) allow(t *callTurn) {
	untrusted := false
	for i := range t.calls {
		c := &t.calls[i]
		untrusted = untrusted || c.brings(a)
		if c.all {
			a.allowed[c.Name] = c.destination
		}
	}
	if untrusted {
		clear(a.allowed)
	}
}

// brings reports whether the result of a call has content from outside that was not in the conversation before.
func (c *agentCall) brings(a *agent) bool {
	if !c.untrusted || c.tool == nil {
		return false
	}
	k := c.tool.Kind
	return !a.untrusted && !c.tool.Untrusted || k.StartsRuns() || k.Untrusted != nil && k.Untrusted(c.tool.Node)
}

// reasonOf returns what a model says beside its calls.
func reasonOf(items []providers.Item) string {
	var texts []string
	for i := range items {
		if items[i].Type == providers.ItemText {
			texts = append(texts, items[i].Text)
		}
	}
	return strings.Join(texts, "\n")
}

// AskKind returns the kind of the steps of agents that ask people before a call. ask asks a question and waits for the decision.
func AskKind(group string, ask func(ctx context.Context, in *flow.In, question func() flow.Question, outputs func(*flow.Decision) map[string]any) (flow.Out, error)) flow.Kind {
	return flow.Kind{
		Name: "agent_ask", Title: "Question", Group: group, Icon: "user-check", Class: flow.Outside, WaitsFor: flow.WaitsForApproval, Internal: true,
		Summary: "Asks people whether an agent may make a call.",
		Fields:  []flow.Field{{Name: "expires_after", Type: flow.FieldText, Typed: true}, {Name: "url", Type: flow.FieldText}},
		Outputs: []flow.Port{{Name: "outcome", Type: flow.TypeText}, {Name: "arguments", Type: flow.TypeJSON}, {Name: "comment", Type: flow.TypeText}},
		Settles: true,
		Run: func(ctx context.Context, in *flow.In) (flow.Out, error) {
			q, _ := in.Ports[Port].(*flow.Question)
			return ask(ctx, in, func() flow.Question { return *q }, func(d *flow.Decision) map[string]any { return Approved(q, d) })
		},
	}
}

// CheckAsk reports invalid settings of the questions of an agent.
func CheckAsk(n *flow.Node, isDuration func(text string) bool) (problems []flow.Problem) {
	invalid := func(field, detail string) {
		problems = append(problems, flow.Problem{Pointer: flow.Pointer(field), Code: "invalid", Detail: detail})
	}
	if people, _ := n.Config[AskPeople].([]any); n.Config[AskAudience] == AskNamed && len(people) == 0 {
		invalid(AskPeople, "name at least one member by email address")
	}
	if text, typed := n.Config[AskExpires].(string); typed {
		if !isDuration(text) {
			invalid(AskExpires, fmt.Sprintf("wanted a duration such as 90m, 12h or 7d, at most 366 days; got %q", text))
		}
	}
	return problems
}

// CheckArguments returns what is wrong with the arguments of a call, by the JSON Schema of its tool.
func CheckArguments(ctx context.Context, schema any, arguments *flow.Object) (wrong string, err error) {
	tool := providers.Tool{Parameters: schema}
	_, wrong, err = tool.ReadArguments(ctx, string(flow.EncodeJSON(arguments)))
	return wrong, err
}
