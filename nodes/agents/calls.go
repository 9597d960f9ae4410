package agents

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/flow/wording"
	"sluice/providers"
)

// Every call of a model gets exactly one result, whatever happens: providers refuse a conversation
// with a call that has none.

// maxToolError is the length in bytes of an error that the model gets.
const maxToolError = 2 << 10

// callTurn is the calls of one turn.
type callTurn struct {
	calls []agentCall
	steps []flow.SubStep // that have not ended
	err   error          // ends the agent
	// numbers are those of the sources that the calls of this turn quote.
	numbers *numbers
}

// agentCall is one call and its outcome.
type agentCall struct {
	*providers.ToolCall
	name   string // of its sub-step
	tool   *agentTool
	key    string // of equal calls
	state  string
	text   string // result for the model
	failed bool
	made   bool // by a sub-step
	edited bool // a person changed the arguments
	usage  flow.Usage
	// untrusted means that the text has content from outside.
	untrusted   bool
	destination string       // host that the call reaches, as far as it is known
	outcome     flow.Outcome // of the question about the call
	note        string       // for the model, above the result
	all         bool         // all calls of the tool were allowed
	numbers     *numbers     // of the sources that its results quote; nil if they quote none
	cited       *flow.Object // sources that the result quotes, by number
}

// callTurn decides what happens with the calls of the current turn. Calls that end without a
// sub-step do so by rules over what is recorded.
func (a *agent) callTurn(so *flow.Expansion, calls []*providers.ToolCall, reason string) *callTurn {
	t := &callTurn{numbers: a.sources.numbers.next()}
	made, madeBy := a.made, map[string]int{}
	inOrder, open := a.in.Config["parallel"] == false, false // open: a call before has not ended
	for i, call := range calls {
		c := agentCall{ToolCall: call, name: fmt.Sprintf("%d.%d", a.turn, i+1)}
		c.edit(so)
		switch c.tool = a.toolNamed(call.Name); {
		case c.tool == nil && call.Name == readResultTool.Name && len(a.results) > 0:
			c.text, c.failed, c.untrusted = a.readResult(call.Arguments)
		case c.tool == nil:
			c.refuse("There is no tool %q.", call.Name)
		default:
			arguments, sub, ok := a.subStep(&c, t, made, madeBy[call.Name])
			if !ok {
				break
			}
			made++
			madeBy[call.Name]++
			c.made = true
			if a.asks(&c, arguments) {
				asked := so.Done[c.name+askSuffix]
				if asked == nil {
					open = true
					if t.err == nil {
						t.steps = append(t.steps, a.askStep(&c, arguments, reason))
					}
					continue
				}
				if sub, ok = a.approved(&c, asked, t); !ok {
					break
				}
			}
			r := so.Done[c.name]
			if r == nil {
				if t.err == nil && !(inOrder && open) {
					t.steps = append(t.steps, sub)
				}
				open = true
				continue
			}
			if err := c.end(r); err != nil && t.err == nil {
				t.err = err
			}
		}
		t.calls = append(t.calls, c)
	}
	return t
}

// subStep returns the sub-step that makes a call. It returns false for a call that is not made, with
// the reason as its result.
func (a *agent) subStep(c *agentCall, t *callTurn, made, madeBy int) (arguments *flow.Object, sub flow.SubStep, ok bool) {
	arguments, wrong := c.tool.readArguments(c.Arguments)
	if wrong != "" {
		c.refuse("The arguments are invalid: %s", wording.Period(wrong))
		return nil, sub, false
	}
	c.key = value.Hash([]any{c.Name, value.Plain(arguments)})
	limit := a.in.Int("repeat_limit")
	switch r := a.seen[c.key]; {
	case r != nil && r.same >= limit:
		c.refuse("You have made this call %s with the same result, so it was not made again. Use the result that you have, or do something else.", flow.Count(r.same, "time"))
	case made >= a.in.Int("max_calls"):
		c.refuse("The limit of %s is reached. Answer with what you have.", flow.Count(a.in.Int("max_calls"), "call"))
	case c.tool.Node.Tool.MaxCalls > 0 && a.madeBy[c.Name]+madeBy >= c.tool.Node.Tool.MaxCalls:
		c.refuse("The limit of %s of this tool is reached. Go on without it.", flow.Count(c.tool.Node.Tool.MaxCalls, "call"))
	default:
		sub, ok = a.callStep(c, t, arguments)
		return arguments, sub, ok
	}
	return nil, sub, false
}

// callStep returns the sub-step that makes a call with arguments that match its schema.
func (a *agent) callStep(c *agentCall, t *callTurn, arguments *flow.Object) (sub flow.SubStep, ok bool) {
	config, ports, err := c.tool.bind(arguments)
	if err != nil {
		c.refuse("The arguments are invalid: %s", wording.Truncate(flow.AsError(err).Message, maxToolError))
		return sub, false
	}
	c.destination = flow.CallDestination(c.tool.Kind, config)
	if wrong := a.mayReach(c, config); wrong != "" {
		c.refuse("%s", wrong)
		return sub, false
	}
	config = t.numbers.give(c, config)
	sub = flow.SubStep{
		Name: c.name, Tool: c.tool.Node.ID, Kind: c.tool.Kind, Config: config, Ports: ports,
		InputHash: value.Hash([]any{a.hash, config, ports}), Effect: c.tool.offer.Effect, Once: c.tool.offer.CallsOnce(c.tool.Node, c.tool.Kind),
		Untrusted: a.untrusted || c.tool.Untrusted, Budget: a.budget,
	}
	if c.tool.offer.Port != "" { // without the definition of the tool, which is in the document
		sub.Input = map[string]any{"tool": c.Name, c.tool.offer.Port: arguments}
	}
	return sub, true
}

// approved returns the step that makes a call with the arguments that people allowed, or false if it is not made.
func (a *agent) approved(c *agentCall, asked *flow.SubResult, t *callTurn) (sub flow.SubStep, ok bool) {
	arguments, err := c.decided(asked)
	if err != nil && t.err == nil {
		t.err = err
	}
	if arguments == nil {
		return sub, false
	}
	if _, wrong := c.tool.readArguments(string(flow.EncodeJSON(arguments))); wrong != "" {
		c.refuse("A person changed the arguments, and they are invalid now: %s", wording.Period(wrong))
		return sub, false
	}
	return a.callStep(c, t, arguments)
}

// stateRefused is the state of a call that was not made.
const stateRefused = "refused"

// refuse ends a call that is not made.
func (c *agentCall) refuse(format string, args ...any) {
	c.state, c.failed, c.text = stateRefused, true, wording.Truncate(fmt.Sprintf(format, args...), maxToolError) // it may quote the model
}

// fatal are the codes of errors that no model can fix.
var fatal = []flow.Code{flow.CodeBudgetExceeded, flow.CodePriceUnknown, flow.CodeProviderAuth, flow.CodeInternal, flow.CodePoisoned}

// end takes over how the sub-step of a call ended. An error ends the agent.
func (c *agentCall) end(r *flow.SubResult) error {
	c.state, c.usage, c.untrusted = string(r.State), r.Usage, r.Untrusted
	if r.Error == nil {
		c.text = c.note + resultText(flow.ToolResult(c.tool.Kind, r.Outputs))
		if s := c.tool.Kind.Tool.Sources; s != nil {
			c.cited, _ = flow.AsObject(r.Outputs[s.Output])
		}
		return nil
	}
	c.failed = true
	if r.Error.Code == flow.CodeOutcomeUnknown {
		c.state = string(flow.CodeOutcomeUnknown)
		c.text = c.note + "The outcome is unknown: the call may have taken effect. Check before you repeat it."
	} else {
		c.text = c.note + fmt.Sprintf("The tool failed (%s): %s", r.Error.Code, wording.Truncate(r.Error.Message, maxToolError))
	}
	switch {
	case slices.Contains(fatal, r.Error.Code):
		return r.Error
	case r.Error.Code == flow.CodeToolChanged && c.tool.Node.Config["on_change"] == "fail":
		return r.Error
	case c.tool.Node.Tool.OnError == flow.ToolErrorFail:
		return &flow.Error{Code: flow.CodeToolFailed, Retryable: r.Error.Retryable, Message: fmt.Sprintf("The tool %s failed with %s: %s", c.Name, r.Error.Code, r.Error.Message)}
	}
	return nil
}

// resultText returns a result as the model reads it.
func resultText(v any) string {
	text, isText := v.(string)
	if !isText && v != nil {
		text = string(flow.EncodeJSON(v))
	}
	return cmp.Or(text, "(no result)")
}

// answer returns the result item of an ended call, and counts the call.
func (c *agentCall) answer(a *agent) *providers.ToolResult {
	if c.made {
		a.countCall(c.Name)
		a.usage = a.usage.Add(c.usage)
		a.noteResult(c)
		a.sources.add(c)
	}
	if c.state == stateRefused {
		a.noteRefusal(c)
	}
	record := map[string]any{"path": a.in.Path + "." + c.name, "tool": c.Name, "state": cmp.Or(c.state, string(flow.StepSucceeded)), "usd": c.usage.CostNanoUSD.Exact()}
	if c.outcome != "" {
		record["approval"] = string(c.outcome)
	}
	a.records = append(a.records, record)
	limit, text := a.in.Int("result_limit")<<10, c.editNote()+c.text
	if c.tool != nil && len(text) > limit {
		a.results[c.name] = &providers.ToolResult{Text: text, Untrusted: c.untrusted}
		text = cutText(text, limit) + fmt.Sprintf("\n[The result has %d bytes; these are the first %d. Read on with %s(call: %q, from: %d).]", len(text), limit, readResultTool.Name, c.name, limit)
	}
	return &providers.ToolResult{CallID: c.ID, Name: c.Name, Text: text, Error: c.failed, Untrusted: c.untrusted}
}

// cutText returns the beginning of a text, at most n bytes of whole characters.
func cutText(text string, n int) string {
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:min(n, len(text))]
}

// repeat counts equal calls that had equal results one after the other.
type repeat struct {
	result  string
	same    int
	refused int // turns that tried it in vain
	turn    int // the last of them
}

// noteResult counts a call that was made.
func (a *agent) noteResult(c *agentCall) {
	r := a.seen[c.key]
	result := flow.Hash([]byte(c.text))
	if r == nil || r.result != result {
		r = &repeat{result: result}
		a.seen[c.key] = r
	}
	r.same++
}

// noteRefusal counts a call that was not made, once per turn: within a turn the model does not know yet that it is in vain.
func (a *agent) noteRefusal(c *agentCall) {
	key := cmp.Or(c.key, value.Hash([]any{c.Name, c.Arguments})) // without valid arguments
	r := a.seen[key]
	if r == nil {
		r = &repeat{}
		a.seen[key] = r
	}
	if r.turn != a.turn {
		r.turn = a.turn
		r.refused++
	}
}

// isStuck reports whether the model has tried an equal call twice as often as allowed.
func (a *agent) isStuck() bool {
	for _, r := range a.seen {
		if r.same+r.refused >= 2*a.in.Int("repeat_limit") {
			return true
		}
	}
	return false
}

// readResultTool lets the model read the rest of a result that was cut. It is offered from then on, and
// reads what is recorded: nothing is called again.
var readResultTool = providers.Tool{
	Name: "read_result", Description: "Reads a part of an earlier result that was cut or left out.",
	Parameters: value.FromMap(map[string]any{
		"type": "object", "additionalProperties": false, "required": []any{"call"},
		"properties": map[string]any{
			"call":   map[string]any{"type": "string", "description": "The call, as the result or the summary names it."},
			"from":   map[string]any{"type": "integer", "description": "The first byte; 0 is the beginning."},
			"length": map[string]any{"type": "integer", "description": "The number of bytes."},
		},
	}),
}

// readResult answers a call of readResultTool.
func (a *agent) readResult(text string) (part string, failed, untrusted bool) {
	tool := agentTool{Tool: readResultTool}
	arguments, wrong := tool.readArguments(text)
	if wrong != "" {
		return "The arguments are invalid: " + wording.Period(wrong), true, false
	}
	of, known := a.results[strings.TrimPrefix(flow.Text(arguments.Get("call")), a.in.Path+".")]
	if !known {
		return "There is no cut result of that call.", true, false
	}
	result := of.Text
	limit := a.in.Int("result_limit") << 10
	from, _ := flow.Float(arguments.Get("from"))
	length, given := flow.Float(arguments.Get("length"))
	if !given || length <= 0 {
		length = float64(limit)
	}
	start := int(min(max(from, 0), float64(len(result))))
	for start < len(result) && !utf8.RuneStart(result[start]) {
		start++
	}
	part = cutText(result[start:], int(min(length, float64(limit))))
	if end := start + len(part); end < len(result) {
		part += fmt.Sprintf("\n[Bytes %d to %d of %d.]", start, end, len(result))
	}
	return cmp.Or(part, "(nothing)"), false, of.Untrusted
}
