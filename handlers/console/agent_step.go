package console

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/views/components"
	consoleview "sluice/views/console"
)

// showRequest is GET /runs/{run}/request: the whole request of a turn, as JSON. Requests are not
// recorded, but made of what is.
func showRequest(c *call, run *flow.Run) error {
	sub, err := c.s.Runner.FindSubStep(c.Ctx(), run, c.QueryParam("step"))
	if err != nil {
		return err
	}
	request, err := requestOf(sub)
	if err != nil {
		return err
	}
	whole := &flow.Object{}
	for _, name := range []string{"model", "system", "messages", "prompt", "max_tokens", "temperature", "reasoning_effort"} {
		if v, set := sub.Config[name]; set && v != nil && v != "" {
			whole.Set(name, v)
		}
	}
	whole.Set("items", request.Items)
	whole.Set("tools", request.Tools)
	if request.Choice != "" {
		whole.Set("tool_choice", request.Choice)
	}
	data, err := json.MarshalIndent(json.RawMessage(flow.EncodeJSON(whole)), "", "  ")
	if err != nil {
		return err
	}
	return c.Blob(http.StatusOK, "application/json; charset=utf-8", data)
}

// turnRequest is what a turn sends besides the fields of the agent.
type turnRequest struct {
	Items  []turnItem
	Tools  []json.RawMessage
	Choice string
}

// turnItem is an item of a conversation; see providers.Item.
type turnItem struct {
	Type string `json:"type"`
	Role string `json:"role,omitempty"`
	Text string `json:"text,omitempty"`
	Call *struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments,omitempty"`
	} `json:"call,omitempty"`
	Result *struct {
		CallID string `json:"call_id"`
		Name   string `json:"name,omitempty"`
		Text   string `json:"text,omitempty"`
		Error  bool   `json:"error,omitempty"`
	} `json:"result,omitempty"`
	Image any `json:"image,omitempty"`
}

// requestOf reads the conversation of a turn. Parts that only the provider understands are left out.
func requestOf(sub *flow.SubStep) (r turnRequest, err error) {
	if err = json.Unmarshal(flow.EncodeJSON(sub.Ports["conversation"]), &r); err != nil {
		return r, err
	}
	readable := r.Items[:0]
	for _, item := range r.Items {
		if item.Type != "opaque" {
			readable = append(readable, item)
		}
	}
	r.Items = readable
	return r, nil
}

// itemsOf reads the items that a turn recorded.
func itemsOf(s *flow.Step) (items []turnItem) {
	if json.Unmarshal(flow.EncodeJSON(s.Outputs["items"]), &items) != nil {
		return nil
	}
	return items
}

// fillAgentStep adds to the details of a turn or a call what only these have. full is the step with its
// content.
func fillAgentStep(c *call, a *agent, d *consoleview.StepView, full *flow.Step, link consoleview.RunLink) error {
	name := strings.TrimPrefix(full.Path, a.step.Path+flow.SubSeparator)
	turnName, _, isCall := strings.Cut(name, flow.SubSeparator)
	t, at := a.turn(turnName)
	if t == nil {
		return nil
	}
	ended := a.v.run.State.Ended()
	if !isCall {
		d.Label = a.turnLabel(t)
		if t.isTurn() {
			d.CopyPath = components.RunPath(string(a.v.run.ID)) + "/request?step=" + full.Path
			d.Turn = viewTurn(c, a, at, full, link)
			d.Turn.AllPath = d.CopyPath
		}
		if ended {
			d.Again = &consoleview.AgainView{From: full.Path, Label: "Rerun from " + strings.ToLower(d.Label[:1]) + d.Label[1:], Writes: a.writesFrom(at)}
		}
		return nil
	}
	turn, err := c.s.Store.FindStep(c.Ctx(), a.v.run.WorkspaceID, a.v.run.ID, t.Path)
	if err != nil || turn == nil {
		return err
	}
	_, number, _ := flow.CallOf(full.Path)
	d.Label = a.v.toolName(full)
	d.Meta = append([]string{"Turn " + turnName + ", call " + strconv.Itoa(number)}, d.Meta...)
	if d.Call, err = viewCall(c, a, full, turn, number); err != nil {
		return err
	}
	d.Outputs = a.resultOnly(full, d.Outputs)
	if usageCost(full.Usage) == "" && a.v.children[full.Path] == nil {
		d.Meta = append(d.Meta, "No cost")
	}
	if d.Call.Unknown {
		d.Error = nil
	}
	d.MayEdit = ended && len(d.Call.Fields) > 0
	if next := at + 1; ended && next < len(a.turns) {
		d.Again = &consoleview.AgainView{From: a.turns[next].Path, Label: "Rerun from turn " + a.turns[next].name, Writes: a.writesFrom(next)}
	}
	if child := a.v.children[full.Path]; child != nil {
		results, err := c.s.Store.ReadChildren(c.Ctx(), c.WorkspaceID(), child.Caller, 0, 1)
		if err != nil {
			return err
		}
		if len(results) == 1 && results[0].RunID != "" {
			d.RunPath = components.RunPath(string(results[0].RunID))
		}
	}
	return nil
}

// resultOnly leaves only the outputs that the model was given.
func (a *agent) resultOnly(s *flow.Step, outputs []components.OutputView) (list []components.OutputView) {
	k := a.v.kindOf(s)
	if k == nil || k.Tool == nil || len(k.Tool.Result) == 0 {
		return outputs
	}
	for _, name := range k.Tool.Result {
		for i := range outputs {
			if outputs[i].Name == name {
				list = append(list, outputs[i])
			}
		}
	}
	return list
}

// viewCall returns a call with its arguments and bound values.
func viewCall(c *call, a *agent, s, turn *flow.Step, number int) (*consoleview.CallView, error) {
	out := &consoleview.CallView{Tool: a.v.toolName(s), Key: string(a.v.run.ID) + ":" + s.Path, Unknown: isUnknown(s)}
	wrote := &flow.Object{}
	calls := 0
	for _, item := range itemsOf(turn) {
		if item.Call == nil {
			continue
		}
		if calls++; calls == number {
			if v, err := value.Decode([]byte(item.Call.Arguments)); err == nil {
				wrote, _ = flow.AsObject(v)
			}
		}
	}
	var changed *flow.Object
	if a.edits[s.Path] != nil {
		edit, err := c.s.Store.FindStep(c.Ctx(), a.v.run.WorkspaceID, a.v.run.ID, s.Path+flow.EditSuffix)
		if err != nil {
			return nil, err
		}
		if edit != nil {
			changed, _ = flow.AsObject(edit.Outputs["arguments"])
			out.Edited = true
		}
	}
	made := wrote
	if changed != nil {
		made = changed
	}
	request := &flow.Object{}
	request.Set("tool", out.Tool)
	request.Set("arguments", made)
	out.Request = string(flow.EncodeJSON(request))
	n, k, open := a.v.openPorts(s)
	if n == nil {
		return out, nil
	}
	out.Write = n.ToolEffect(k) == flow.EffectWrite
	known := map[string]bool{}
	for _, p := range open {
		name := flow.ToolArgument(k, p.Name)
		known[p.Name] = true
		v, given := made.Lookup(name)
		field := consoleview.ArgumentField{Name: name}
		if given {
			view := consoleview.ArgumentView{ValueView: components.ValueView{Name: name, Value: v}}
			if was, had := wrote.Lookup(name); changed != nil && (!had || string(flow.EncodeJSON(was)) != string(flow.EncodeJSON(v))) {
				view.Edited = true
				view.Was = components.ValueView{Value: was}.Brief(200)
			}
			out.Arguments = append(out.Arguments, view)
			field.Value = editedText(v)
		}
		field.Long = len(field.Value) > 60 || strings.Contains(field.Value, "\n")
		if param := n.Tool.Param(p.Name); param != nil {
			field.Help = param.Description
		}
		out.Fields = append(out.Fields, field)
	}
	out.Bound = a.boundValues(s, n, k, known)
	return out, nil
}

// boundValues returns the values of a call that the flow determines, with their sources.
func (a *agent) boundValues(s *flow.Step, n *flow.Node, k *flow.Kind, open map[string]bool) (list []consoleview.ArgumentView) {
	for _, p := range flow.InputPorts(n, k) {
		v, given := s.Input[p.Name]
		f := k.Field(p.Name)
		if open[p.Name] || !given {
			continue
		}
		source := a.sourceOf(n.ID, p.Name)
		if source == "" && (f == nil || f.Template || f.Typed || f.Type == flow.FieldSelect || !n.HasValue(f)) {
			continue
		}
		if source == "" {
			source = "Typed"
		}
		list = append(list, consoleview.ArgumentView{ValueView: components.ValueView{Name: flow.ToolArgument(k, p.Name), Value: v}, Source: source})
	}
	return list
}

// sourceOf names the output that feeds a port; "" if no edge does.
func (a *agent) sourceOf(node, port string) string {
	for _, e := range a.v.doc.Edges {
		if e.To == node+"."+port {
			_, from := e.Source()
			return a.v.label(e.FromNode()) + " › " + from
		}
	}
	return ""
}

// viewTurn returns a turn with what is new in its request, its answer and its calls.
func viewTurn(c *call, a *agent, at int, full *flow.Step, link consoleview.RunLink) *consoleview.TurnView {
	out := &consoleview.TurnView{OutputTokens: full.Usage.OutputTokens, ReasoningTokens: full.Usage.ReasoningTokens, Answer: flow.Text(full.Outputs["text"])}
	if sub, err := c.s.Runner.FindSubStep(c.Ctx(), a.v.run, full.Path); err == nil {
		if request, err := requestOf(sub); err == nil {
			out.Of, out.New = 1+len(request.Items), newMessages(request.Items)
			if prompt := flow.Text(sub.Config["prompt"]); at == 0 && prompt != "" {
				out.New = append([]consoleview.TurnMessage{{Role: "User", Text: components.ValueView{Value: prompt}.Brief(2000)}}, out.New...)
			}
		}
	}
	t := &a.turns[at]
	made := map[int]*flow.Step{}
	for _, s := range t.calls {
		if _, number, ok := flow.CallOf(s.Path); ok {
			made[number] = s
		}
	}
	number := 0
	for _, item := range itemsOf(full) {
		if item.Call == nil {
			continue
		}
		number++
		out.Calls = append(out.Calls, a.turnCall(item.Call.Name, item.Call.Arguments, made[number], link))
	}
	return out
}

// turnCall returns a call that a turn asked for. s is nil if it was not made.
func (a *agent) turnCall(tool, arguments string, s *flow.Step, link consoleview.RunLink) consoleview.TurnCall {
	out := consoleview.TurnCall{Tool: tool, Brief: briefArguments(arguments), State: string(flow.StepSkipped), Icon: "circle", Group: "canvas"}
	if s == nil {
		out.Refused = "Not made"
		if a.step.State == flow.StepRunning {
			out.State, out.Refused = string(flow.StepPending), "Not started"
		}
		return out
	}
	out.State = a.callState(s)
	out.Icon, out.Group = a.v.face(s)
	if s.Attempt > 0 && s.State.Ended() {
		out.Took = components.Duration(stepDuration(s, s.EndedAt))
	}
	to := link.WithStep(s.Path)
	out.Link = &to
	return out
}

// briefArguments returns the beginning of arguments as a model wrote them.
func briefArguments(arguments string) string {
	v, err := value.Decode([]byte(arguments))
	object, ok := flow.AsObject(v)
	if err != nil || !ok {
		return components.ValueView{Value: arguments}.Brief(briefLength)
	}
	var parts []string
	for name, v := range object.All() {
		parts = append(parts, name+": "+components.ValueView{Value: v}.Brief(briefLength))
	}
	return components.ValueView{Value: strings.Join(parts, ", ")}.Brief(briefLength)
}

// newMessages returns the messages after the last but one answer of the model: the calls of the turn before
// and their results.
func newMessages(items []turnItem) (list []consoleview.TurnMessage) {
	from := len(items)
	for from > 0 && (items[from-1].Call == nil && items[from-1].Role != "assistant") {
		from--
	}
	for from > 0 && (items[from-1].Call != nil || items[from-1].Role == "assistant") {
		from--
	}
	for _, item := range items[from:] {
		switch {
		case item.Call != nil:
			list = append(list, consoleview.TurnMessage{Role: "Model", Model: true, Tool: item.Call.Name, Text: briefArguments(item.Call.Arguments)})
		case item.Result != nil:
			list = append(list, consoleview.TurnMessage{Role: item.Result.Name, Bad: item.Result.Error, Text: components.ValueView{Value: item.Result.Text}.Brief(600)})
		case item.Text != "" && item.Role == "assistant":
			list = append(list, consoleview.TurnMessage{Role: "Model", Model: true, Text: components.ValueView{Value: item.Text}.Brief(600)})
		case item.Text != "":
			list = append(list, consoleview.TurnMessage{Role: "User", Text: components.ValueView{Value: item.Text}.Brief(600)})
		}
	}
	return list
}

// editedText returns a value as a form shows it: a text as it is, others as JSON.
func editedText(v any) string {
	if text, isText := v.(string); isText {
		return text
	}
	return string(flow.EncodeJSON(v))
}

// argumentField is the prefix of the fields of a form with the arguments of a call.
const argumentField = "arg."

// readArguments reads the arguments of a call from a form. A field whose value was not a text before is read
// as JSON, and an empty field that the model left out stays out.
func readArguments(c *call, run *flow.Run, path string) (*flow.Object, error) {
	v, err := c.viewRun(run)
	if err != nil {
		return nil, err
	}
	a := v.findAgent(path)
	asked, number, ok := flow.CallOf(path)
	s := v.step(path)
	if a == nil || !ok || s == nil {
		return nil, flow.Errorf(flow.CodeNotFound, "There is no such call.")
	}
	turn, err := c.s.Store.FindStep(c.Ctx(), run.WorkspaceID, run.ID, asked)
	if err != nil {
		return nil, err
	}
	if turn == nil {
		return nil, flow.Errorf(flow.CodeNotFound, "There is no such call.")
	}
	view, err := viewCall(c, a, s, turn, number)
	if err != nil {
		return nil, err
	}
	before := &flow.Object{}
	for i := range view.Arguments {
		before.Set(view.Arguments[i].Name, view.Arguments[i].Value)
	}
	n, k, open := v.openPorts(s)
	types := map[string]string{}
	properties, _ := flow.AsObject(flow.ToolSchema(n, k, open).Get("properties"))
	for name, schema := range properties.All() {
		types[name] = flow.Text(value.Get(schema, "type"))
	}
	out := &flow.Object{}
	for i := range view.Fields {
		name := view.Fields[i].Name
		text := c.FormValue(argumentField + name)
		was, had := before.Lookup(name)
		_, wasText := was.(string)
		switch {
		case text == "" && !had:
		case types[name] == "string" || types[name] == "" && wasText:
			out.Set(name, text)
		default:
			v, err := value.Decode([]byte(text))
			if err != nil {
				v = text
			}
			out.Set(name, v)
		}
	}
	return out, nil
}
