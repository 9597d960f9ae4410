package agents

import (
	"context"
	"fmt"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/flow/wording"
	"sluice/providers"
)

// Outputs of the sub-step that records changed arguments.
const (
	editedArguments = "arguments"
	editedCall      = "call" // hash of the call that was changed
)

// Edit implements flow.Kind.Edit.
func Edit(e flow.CallEdit) (map[string]any, error) {
	items, err := turnItems(e.Outputs)
	if err != nil {
		return nil, err
	}
	calls := callsOf(items)
	if e.Number > len(calls) || calls[e.Number-1].Name != e.Tool.ToolName() {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The turn has no call %d of %s.", e.Number, e.Tool.ToolName())
	}
	tool := providers.Tool{Name: e.Tool.ToolName(), Parameters: e.Schema}
	arguments, wrong, err := tool.ReadArguments(context.Background(), string(flow.EncodeJSON(e.Arguments)))
	if err != nil {
		return nil, err
	}
	if wrong != "" {
		return nil, &flow.Error{Code: flow.CodeInputInvalid, Message: "The arguments are invalid.", Fields: []flow.Problem{{Pointer: "/arguments", Code: "invalid", Detail: wording.Period(wrong)}}}
	}
	return map[string]any{editedArguments: arguments, editedCall: callHash(calls[e.Number-1])}, nil
}

// callHash identifies a call by what the model asked for, so that a change of its arguments is not
// applied to another call at the same place.
func callHash(c *providers.ToolCall) string { return value.Hash([]any{c.Name, c.Arguments}) }

// edit replaces the arguments of a call if a person has changed them. The recorded answer of the
// model stays as it is.
func (c *agentCall) edit(so *flow.Expansion) {
	r := so.Done[c.name+flow.EditSuffix]
	if r == nil || flow.Text(r.Outputs[editedCall]) != callHash(c.ToolCall) {
		return
	}
	changed := *c.ToolCall
	changed.Arguments = string(flow.EncodeJSON(r.Outputs[editedArguments]))
	c.ToolCall, c.edited = &changed, true
}

// editNote tells the model which arguments a call was made with.
func (c *agentCall) editNote() string {
	if !c.edited {
		return ""
	}
	return fmt.Sprintf("[A person changed the arguments of this call to %s.]\n", c.Arguments)
}
