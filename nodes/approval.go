package nodes

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sluice/flow"
	"sluice/markdown"
)

// Options of the field "audience": who may answer an approval.
const (
	askLink    = "anyone with the link"
	askMembers = "members"
	askNamed   = "named members"
)

// audiences maps these options to the audience of a question.
var audiences = map[string]flow.Audience{askLink: flow.AudienceLink, askMembers: flow.AudienceMembers, askNamed: flow.AudienceNamed}

// The approval kind pauses a run until a person approves or rejects. Like a delay, it
// suspends its step, so that a waiting run holds no worker and survives restarts. An
// answer wakes the run.
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "approval", Title: "Approval", Group: groupControl, Icon: "user-check", Class: flow.Outside, WaitsFor: flow.WaitsForApproval,
		Summary: "Waits until a person approves or rejects.",
		Doc: "Shows a message and values to people and waits for their decision: by a link, in the dashboard under *Waiting for you*, or over the API " +
			"with a key that has the scope `approve`. The first answer counts.\n\n" +
			"Each name under `values` becomes an input port, and an output port with the approved value, including edits. " +
			"The outcome leaves through `approved`, `rejected` or `expired`, as an object with `values`, `comment` and `by`.\n\n" +
			"A waiting run occupies no worker and survives restarts; the wait does not count toward the run's time limit. The message sent to " +
			"`url` is of type `run.waiting`, holds the link, and is signed like every webhook. The webhook of the run (`run_options.webhook`) gets it without the link.",
		Fields: []flow.Field{
			{Name: "title", Title: "Title", Type: flow.FieldText, Template: true, Default: "Approve this?", Help: "The question, in one line."},
			{Name: "message", Title: "Message", Type: flow.FieldArea, Template: true, Help: "Markdown. Type {{ to insert a value."},
			{Name: "values", Title: "Values", Type: flow.FieldList, Typed: true, Help: "Add the values people should see. Each gets a port in, and a port out with the approved value."},
			{Name: "editable", Title: "Editable values", Type: flow.FieldList, Typed: true, Help: "Values that people may change."},
			{Name: "audience", Title: "Who may answer", Type: flow.FieldSelect, Typed: true, Default: askLink, Options: []string{askLink, askMembers, askNamed},
				Help: "Members sign in to the dashboard. Keys and links cannot answer for named members."},
			{Name: "people", Title: "Named members", Type: flow.FieldList, Typed: true, Help: "Email addresses of the members who may answer."},
			{Name: "expires_after", Title: "Expires after", Type: flow.FieldText, Typed: true, Default: "7d", Help: "Time to answer, such as 90m, 12h or 7d."},
			{Name: "url", Title: "Webhook URL", Type: flow.FieldText, Template: true, Escape: flow.EscapeURL, Secrets: flow.SecretsInURL,
				Help: "Where to send the question with its link, such as a chat channel."},
			{Name: "self_approve", Title: "Allow self-approval", Type: flow.FieldBoolean, Typed: true, More: true, Default: false,
				Help: "Lets a key answer questions of runs that it, or a key related to it, started."},
		},
		DynamicSchema: approvalSchema,
		Outputs: []flow.Port{
			{Name: "approved", Title: "Approved", Type: flow.TypeJSON, Branch: true, Schema: decisionSchema, Help: "The values, the comment and who answered, if it was approved."},
			{Name: "rejected", Title: "Rejected", Type: flow.TypeJSON, Branch: true, Schema: decisionSchema, Help: "The same, if it was rejected."},
			{Name: "expired", Title: "Expired", Type: flow.TypeJSON, Branch: true, Schema: decisionSchema, Help: "The same, if there was no answer in time."},
		},
		Example: flow.Example{Config: map[string]any{"title": "Send this reply?", "message": "It goes to a customer."}},
		Sends:   &flow.Destination{Field: "url", Hosts: flow.URLHost("url")},
		Check:   checkApproval,
		Tool:    &flow.ToolUse{},
		Run:     approve,
	}
})

// approvalSchema declares an input and an output port for each value.
func approvalSchema(n *flow.Node) flow.DynamicSchema {
	names := portNames(n.Config["values"])
	outputs := namedOutputs(names, approvalPorts, "The approved value.")
	for i := range outputs {
		outputs[i].Passes = outputs[i].Name // an edited value keeps its type
	}
	return flow.DynamicSchema{Fields: namedInputs(names, approvalPorts, "A value to show with the question."), Outputs: outputs}
}

// decisionSchema describes the values of the ports approved, rejected and expired.
var decisionSchema = objectSchema("values", map[string]any{"type": "object"}, "comment", textSchema, "by", textSchema)

// approvalPorts are reserved: the names of the fixed fields and ports of the kind.
var approvalPorts = []string{
	"title", "message", "values", "editable", "audience", "people", "expires_after", "url", "self_approve", "approved", "rejected", "expired",
}

// checkApproval reports invalid names, audiences and durations.
func checkApproval(n *flow.Node) []flow.Problem {
	problems := append(checkURL(n, "url"), checkPortNames(n, "values", approvalPorts)...)
	invalid := func(field, format string, args ...any) {
		problems = append(problems, flow.Problem{Pointer: flow.Pointer(field), Code: "invalid", Detail: fmt.Sprintf(format, args...)})
	}
	names := portNames(n.Config["values"])
	for _, name := range portNames(n.Config["editable"]) {
		if !slices.Contains(names, name) {
			invalid("editable", "%q is not one of the values", name)
		}
	}
	if n.Config["audience"] == askNamed && len(portNames(n.Config["people"])) == 0 {
		invalid("people", "name at least one member by email address")
	}
	if text, typed := n.Config["expires_after"].(string); typed {
		if d, err := parseDelay(text); err != nil || d <= 0 {
			invalid("expires_after", "wanted a duration such as 90m, 12h or 7d, at most 366 days; got %q", text)
		}
	}
	return problems
}

// approve asks the question of an approval.
func approve(ctx context.Context, in *flow.In) (flow.Out, error) {
	return askPeople(ctx, in, func() flow.Question { return approvalQuestion(in) }, func(d *flow.Decision) map[string]any { return approvalOutputs(in, d) })
}

// askPeople creates the question when the step first runs, and looks for a decision whenever
// it is resumed. The state of the step is the time when the question expires (RFC 3339).
func askPeople(ctx context.Context, in *flow.In, question func() flow.Question, outputs func(*flow.Decision) map[string]any) (flow.Out, error) {
	expires, asked := delayState(in.State)
	var announcement []flow.NewDelivery
	if !asked {
		d, err := parseDelay(in.Text("expires_after"))
		if err != nil {
			return flow.Out{}, flow.Errorf(flow.CodeInputInvalid, "Expires after must be a duration such as 90m, 12h or 7d. Got %q.", in.Text("expires_after"))
		}
		expires = in.Now().Add(d)
		q := question()
		link, err := in.AskApproval(ctx, q, expires)
		if err != nil {
			return flow.Out{}, err
		}
		if announcement, err = announceApproval(in, q, link, expires); err != nil {
			return flow.Out{}, err
		}
	}
	decision, err := in.TakeDecision(ctx)
	if err != nil {
		return flow.Out{}, err
	}
	if decision != nil {
		return flow.Out{Outputs: outputs(decision)}, nil
	}
	return flow.Out{Deliveries: announcement, Suspend: &flow.Suspension{Until: expires, State: expires.UTC().Format(time.RFC3339Nano), Event: true}}, nil
}

// approvalQuestion returns the question that people see, with the values that they may edit.
func approvalQuestion(in *flow.In) flow.Question {
	editable := portNames(in.Config["editable"])
	q := flow.Question{
		Title: in.Text("title"), Message: in.Text("message"), Audience: audiences[in.Text("audience")], People: portNames(in.Config["people"]),
		SelfAnswer: in.Config["self_approve"] == true,
	}
	if q.Message != "" {
		q.Rendered = markdown.HTML(q.Message)
	}
	for _, name := range portNames(in.Config["values"]) {
		q.Values = append(q.Values, flow.ApprovalValue{Name: name, Value: in.Config[name], Editable: slices.Contains(editable, name)})
	}
	return q
}

// announceApproval returns the messages about a question. The one to the node's own URL,
// if any, contains the link. The one to the webhook of the run does not, because its
// receiver may not be entitled to answer.
func announceApproval(in *flow.In, q flow.Question, link string, expires time.Time) (list []flow.NewDelivery, err error) {
	values := &flow.Object{}
	for _, v := range q.Values {
		values.Set(v.Name, v.Value)
	}
	data := map[string]any{
		"run_id": string(in.RunID), "flow_id": string(in.FlowID), "node": in.Node, "path": in.Path, "title": q.Title, "message": q.Message,
		"values": values, "expires_at": expires.UTC().Format(flow.TimeForm),
	}
	message := map[string]any{"type": "run.waiting", "timestamp": in.Now().UTC().Format(flow.TimeForm), "data": data}
	toRun := flow.NewDelivery{OfRun: true, Body: flow.EncodeJSON(message)}
	if in.Text("url") == "" {
		return []flow.NewDelivery{toRun}, nil
	}
	target, err := deliveryURL(in)
	if err != nil {
		return nil, err
	}
	data["link"] = link
	return []flow.NewDelivery{{Node: in.Node, URL: target, Body: flow.EncodeJSON(message)}, toRun}, nil
}

// approvalOutputs returns the outputs of a decision: its outcome and, if it is an approval, the values with
// the edits.
func approvalOutputs(in *flow.In, d *flow.Decision) map[string]any {
	values := &flow.Object{}
	for _, name := range portNames(in.Config["values"]) {
		values.Set(name, in.Config[name])
		if edited, changed := d.Values[name]; changed {
			values.Set(name, edited)
		}
	}
	outputs := map[string]any{string(d.Outcome): map[string]any{"values": values, "comment": d.Comment, "by": d.By.Name}}
	if d.Outcome == flow.OutcomeApproved {
		for name, value := range values.All() {
			outputs[name] = value
		}
	}
	return outputs
}
