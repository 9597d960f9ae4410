package agents

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"sync"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/providers"
)

// Options of the field "on_limit": what an agent does at a limit.
const (
	LimitAnswer = "answer"
	LimitFail   = "fail"
	LimitRoute  = "route"
)

// Finish reasons of an agent, besides those of providers.
const (
	finishLimit = "limit"
	finishStuck = "stuck"
)

// Loop decides what agents do.
type Loop struct {
	Turn   *flow.Kind // of the steps that call the model
	Ask    *flow.Kind // of the steps that ask people before a call
	Fields []string   // fields of an agent that a turn has, too
	// Test evaluates a condition over the arguments of a call.
	Test   func(condition string, variables map[string]any) (bool, error)
	Before func(in *flow.In) []any // conversation up to the prompt, as messages of OpenAI's API
	// Part reads a part of such a message: an image (a file value or a URL), or a text.
	Part func(v any) (text string, image any)
	// Room returns the tokens that a conversation may have with a model, provider/model, before it is compacted.
	Room func(model string) int64
}

// Port is the input port of a turn with a *Turn. It is not recorded: it is made of what earlier turns
// and calls recorded.
const Port = "conversation"

// ContextTokens is the config value of a turn with the estimated tokens of its items.
const ContextTokens = "context_tokens"

// bytesPerToken is an estimate on the low side.
const bytesPerToken = 3

// Turn is what a turn sends besides the fields of the agent.
type Turn struct {
	Items    []providers.Item
	Tools    []providers.Tool
	Choice   string // see providers.TurnRequest
	Parallel bool
	// Continues means that Items are the whole conversation, with the prompt: the agent continues that of an earlier run.
	Continues bool
	Images    *sync.Map // files by the URLs that they were downloaded from, for all turns of an agent
	CacheKey  string
	Enclosed  map[string]any // fields of the agent with content from outside; see flow.In
	RunsFlows bool           // a tool runs another flow
}

// agent is the progress of an agent, derived from its ended turns. Everything in it follows from
// recorded rows, so that a restart gives the same; see flow.Kind.Expand.
type agent struct {
	*Loop
	in    *flow.In
	tools []agentTool

	turn    int                              // number of the turn that is to come or in progress
	items   []providers.Item                 // of the turns before it, with the results of their calls, as they are sent
	whole   []providers.Item                 // the same, as they were recorded
	parts   []part                           // of items: the turns that were not summarized
	summary *summary                         // that comes before the turn; otherwise nil
	left    []string                         // results of summarized turns, for the model
	base    int64                            // estimated tokens of what comes before items
	tokens  int64                            // estimate for items
	hash    string                           // of everything that the turn sends
	results map[string]*providers.ToolResult // texts of results that were cut or removed, by the name of the call
	images  sync.Map                         // see Turn
	records []any                            // output "calls"
	sources *sources                         // output "citations"
	usage   flow.Usage
	budget  flow.NanoUSD   // what the agent may cost; 0 means any amount
	dearest flow.NanoUSD   // cost of the most expensive turn
	made    int            // calls that were made
	madeBy  map[string]int // the same, by tool
	seen    map[string]*repeat
	ending  string           // finish reason, once further calls are refused
	first   int              // number of turns of the conversation that the agent continues
	earlier []entry          // that conversation, with the new prompt
	named   map[int]string   // names of the calls whose results are in whole, by index
	last    []providers.Item // of the turn that ended the agent
	// untrusted means that the conversation has content from outside.
	untrusted bool
	wider     map[string][]string // of the current turn; see Wider
	allowed   map[string]string   // destinations of tools all of whose calls people have allowed, by name
}

// agentTool is a tool as the model sees it.
type agentTool struct {
	*flow.BoundTool
	providers.Tool
	offer *flow.ToolOffer
}

// Expand implements flow.Kind.Expand.
func (l *Loop) Expand(in *flow.In, so *flow.Expansion) (flow.Next, error) {
	a, _ := so.Memo.(*agent)
	if a == nil {
		var err error
		if a, err = newAgent(l, in); err != nil {
			return flow.Next{}, err
		}
		so.Memo = a
	}
	for {
		name, step := strconv.Itoa(a.turn), a.nextTurn
		if a.summary != nil {
			name, step = a.summary.name, a.summaryStep
		}
		r := so.Done[name]
		switch {
		case r == nil:
			return flow.Next{Steps: []flow.SubStep{step()}}, nil
		case r.Error != nil && r.Error.Code == flow.CodeAgentLimit && a.in.Text("on_limit") == LimitRoute:
			a.ending = finishLimit
			return a.limited(r.Error.Message), nil
		case r.Error != nil:
			return flow.Next{}, r.Error
		case a.summary != nil:
			if err := a.useSummary(r); err != nil {
				return flow.Next{}, err
			}
			continue
		}
		a.dearest = max(a.dearest, r.Usage.CostNanoUSD)
		items, err := turnItems(r.Outputs)
		if err != nil {
			return flow.Next{}, err
		}
		calls := callsOf(items)
		if len(calls) == 0 || a.ending != "" {
			a.usage = a.usage.Add(r.Usage)
			a.untrusted = a.untrusted || r.Untrusted
			return a.finish(r, items)
		}
		a.wider = widerTools(r.Outputs)
		t := a.callTurn(so, calls, reasonOf(items))
		if len(t.steps) > 0 || t.err != nil {
			return flow.Next{Steps: t.steps}, t.err
		}
		a.usage = a.usage.Add(r.Usage)
		a.untrusted = a.untrusted || r.Untrusted
		a.settle(items, t)
		if next, ended, err := a.atLimit(); ended || err != nil {
			return next, err
		}
		a.compact()
	}
}

// newAgent returns an agent before its first turn.
func newAgent(l *Loop, in *flow.In) (*agent, error) {
	a := &agent{
		Loop: l, in: in, turn: 1, untrusted: len(in.Untrusted) > 0, allowed: map[string]string{},
		results: map[string]*providers.ToolResult{}, madeBy: map[string]int{}, seen: map[string]*repeat{}, named: map[int]string{}, sources: newSources(),
	}
	parts := []any{in.Config}
	for i := range in.Tools {
		t := &in.Tools[i]
		for k := range t.Offers {
			o := &t.Offers[k]
			a.tools = append(a.tools, agentTool{t, providers.Tool{Name: o.Name, Description: o.Description, Parameters: o.Schema, Strict: isStrict(o.Schema)}, o})
		}
		parts = append(parts, t.Hash)
	}
	memory, err := a.remember()
	if err != nil {
		return nil, err
	}
	if memory != nil {
		parts = append(parts, memory)
	}
	for field, least := range map[string]int{"max_turns": 1, "max_calls": 0} { // edges may set them
		if n := in.Int(field); n < least || n > flow.MaxToolCalls || !value.IsInteger(in.Config[field]) {
			return nil, flow.Errorf(flow.CodeInputInvalid, "%q must be a whole number from %d to %d.", field, least, flow.MaxToolCalls)
		}
	}
	a.hash = value.Hash(parts)
	a.base = int64(len(flow.EncodeJSON([]any{in.Config["system"], in.Config["schema"]}))) / bytesPerToken
	if memory == nil {
		a.base += int64(len(flow.EncodeJSON(l.Before(in)))) / bytesPerToken
	}
	for i := range a.tools {
		a.base += int64(len(flow.EncodeJSON(a.tools[i].Tool))) / bytesPerToken
	}
	dollars, _ := flow.Float(in.Config["max_usd"])
	a.budget = flow.USDOf(dollars)
	a.compact() // what the agent continues may be long
	return a, nil
}

// isStrict reports whether providers can guarantee arguments that match a schema: all are required and
// have a type.
func isStrict(schema *flow.Object) bool {
	required, _ := schema.Get("required").([]any)
	properties, _ := flow.AsObject(schema.Get("properties"))
	for _, property := range properties.All() {
		if t := value.Get(property, "type"); t == nil || t == "array" || t == "object" {
			return false
		}
	}
	return len(required) == properties.Len()
}

// nextTurn returns the step of the next turn. Its request starts with that of the turn before, byte by
// byte, so that the provider's cache applies.
func (a *agent) nextTurn() flow.SubStep {
	choice := ""
	if a.ending != "" {
		choice = providers.ChoiceNone
	}
	return a.modelStep(strconv.Itoa(a.turn), a.items, choice)
}

// modelStep returns a sub-step that calls the model with items after the prompt.
func (a *agent) modelStep(name string, items []providers.Item, choice string) flow.SubStep {
	with := &Turn{Items: items, Choice: choice, Parallel: a.in.Config["parallel"] != false, CacheKey: a.in.Key, Enclosed: a.in.Enclosed, Images: &a.images}
	for i := range a.tools {
		with.Tools = append(with.Tools, a.tools[i].Tool)
		with.RunsFlows = with.RunsFlows || a.tools[i].Kind.StartsRuns()
	}
	if len(a.results) > 0 {
		with.Tools = append(with.Tools, readResultTool)
	}
	config := map[string]any{ContextTokens: a.tokens}
	for _, field := range a.Fields {
		if v, set := a.in.Config[field]; set {
			config[field] = v
		}
	}
	if a.earlier != nil {
		with.Continues, with.Enclosed = true, withoutPrompt(with.Enclosed)
		config = withoutPrompt(config)
	}
	hash := value.Hash([]any{a.hash, a.ending})
	if a.summary != nil {
		hash = value.Hash([]any{a.hash, name})
	}
	return flow.SubStep{
		Name: name, Kind: a.Turn, Config: config, Ports: map[string]any{Port: with},
		Input: map[string]any{"request": hash, "messages": len(items), "tools": len(with.Tools), "context": a.base + a.tokens, "compact_at": a.compactAt()}, InputHash: hash,
		Untrusted: a.untrusted, Retry: a.in.Retry, Budget: a.budget,
	}
}

// settle adds an ended turn with the results of all its calls, and continues with the next.
func (a *agent) settle(items []providers.Item, t *callTurn) {
	a.allow(t)
	turn := part{from: len(a.items)}
	for i := range t.calls {
		c := &t.calls[i]
		a.untrusted = a.untrusted || c.untrusted
		turn.calls = append(turn.calls, keptCall{len(a.items) + len(items), c.name, c.Name})
		a.named[len(a.whole)+len(items)] = c.name
		items = append(items, providers.Item{Type: providers.ItemResult, Result: c.answer(a)})
	}
	a.parts = append(a.parts, turn)
	a.items, a.whole = append(a.items, items...), append(a.whole, items...)
	encoded := string(flow.EncodeJSON(items))
	a.hash = value.Hash([]any{a.hash, encoded})
	a.tokens += int64(len(encoded) / bytesPerToken)
	a.turn++
}

// limitReached asks the model for an answer at a limit.
const limitReached = "You have reached the limit of this task and cannot call tools any more. Answer with what you have, and say what is missing."

// atLimit ends the calls if a limit is reached: with a last turn, an error or a branch.
func (a *agent) atLimit() (next flow.Next, ended bool, err error) {
	code, reason := flow.CodeAgentLimit, ""
	switch {
	case a.isStuck():
		code, a.ending, reason = flow.CodeAgentStuck, finishStuck, "The agent made the same call with the same result again and again."
	case a.turn-a.first > a.in.Int("max_turns"):
		a.ending, reason = finishLimit, "The agent reached its limit of "+flow.Count(a.in.Int("max_turns"), "turn")+"."
	case a.isCostly():
		a.ending, reason = finishLimit, "The agent reached its limit of "+a.budget.Rounded()+" USD."
	case a.made >= a.in.Int("max_calls"):
		a.ending, reason = finishLimit, "The agent reached its limit of "+flow.Count(a.in.Int("max_calls"), "call")+"."
	default:
		return flow.Next{}, false, nil
	}
	switch a.in.Text("on_limit") {
	case LimitFail:
		return flow.Next{}, true, flow.Errorf(code, "%s", reason)
	case LimitRoute:
		return a.limited(reason), true, nil
	}
	asked := providers.Item{Type: providers.ItemText, Role: "user", Text: limitReached}
	a.items, a.whole = append(a.items, asked), append(a.whole, asked)
	return flow.Next{}, false, nil
}

// isCostly reports whether the budget is used up, or, if an answer is wanted at a limit, has no room for a
// turn and then the answer, each as expensive as the most expensive turn so far. Runs of flows as tools are not
// known here: if they use it up, the next turn fails.
func (a *agent) isCostly() bool {
	if a.budget <= 0 {
		return false
	}
	if a.in.Text("on_limit") == LimitAnswer {
		return a.usage.CostNanoUSD+2*a.dearest > a.budget
	}
	return a.usage.CostNanoUSD >= a.budget
}

// limited takes the branch of an agent that reached a limit.
func (a *agent) limited(reason string) flow.Next {
	outputs := a.outputs()
	outputs["limited"] = map[string]any{"finish": a.ending, "reason": reason}
	return flow.Next{Outputs: outputs, Untrusted: a.untrusted}
}

// outputs returns the outputs that need no answer.
func (a *agent) outputs() map[string]any {
	return map[string]any{
		"finish": a.ending, "calls": append([]any{}, a.records...), "messages": a.messages(), "citations": a.sources.output(),
		"usage": map[string]any{
			"turns": a.turn - 1 - a.first, "calls": a.made, "input_tokens": a.usage.InputTokens, "output_tokens": a.usage.OutputTokens, "usd": a.usage.CostNanoUSD.Exact(),
		},
	}
}

// finish returns the outputs of an agent whose last turn has an answer.
func (a *agent) finish(r *flow.SubResult, items []providers.Item) (flow.Next, error) {
	text, stop := flow.Text(r.Outputs["text"]), flow.Text(r.Outputs["stop"])
	if a.ending != "" && strings.TrimSpace(text) == "" {
		return flow.Next{}, flow.Errorf(flow.CodeAgentLimit, "The agent reached a limit, and the model gave no answer without its tools.")
	}
	if a.ending == "" {
		a.ending = stop
	}
	a.whole = append(a.whole, providers.Item{Type: providers.ItemText, Role: "assistant", Text: text})
	a.keepLast(items)
	a.turn++
	outputs := a.outputs()
	outputs["text"] = text
	if object, ok := flow.AsObject(r.Outputs["json"]); ok {
		for name, v := range object.All() {
			if _, own := outputs[name]; !own && name != "json" && name != "limited" && name != flow.ErrorPort {
				outputs[name] = v
			}
		}
		outputs["json"], outputs["text"] = object, string(flow.EncodeJSON(object))
	}
	return flow.Next{Outputs: outputs, Untrusted: a.untrusted}, nil
}

// messages returns the conversation in the form of OpenAI's API.
func (a *agent) messages() []any {
	if a.earlier == nil {
		return addMessages(a.Before(a.in), a.whole)
	}
	var items []providers.Item
	for i := range a.earlier {
		items = append(items, a.earlier[i].plain())
	}
	return addMessages(nil, append(items, a.whole...))
}

// addMessages adds items to a conversation in the form of OpenAI's API.
func addMessages(list []any, items []providers.Item) []any {
	var said map[string]any // the message of the model that calls belong to
	for i := range items {
		switch item := &items[i]; item.Type {
		case providers.ItemText:
			if message := map[string]any{"role": item.Role, "content": item.Text}; item.Text != "" {
				list = append(list, message)
				if said = nil; item.Role == "assistant" {
					said = message
				}
			}
		case providers.ItemPicture:
			said = nil
			part := map[string]any{"type": "image_url", "image_url": map[string]any{"url": item.Source}}
			list = append(list, map[string]any{"role": "user", "content": []any{part}})
		case providers.ItemCall:
			call := map[string]any{"id": item.Call.ID, "type": "function", "function": map[string]any{"name": item.Call.Name, "arguments": item.Call.Arguments}}
			if said == nil {
				said = map[string]any{"role": "assistant", "content": nil}
				list = append(list, said)
			}
			calls, _ := said["tool_calls"].([]any)
			said["tool_calls"] = append(calls, call)
		case providers.ItemResult:
			said = nil
			list = append(list, map[string]any{"role": "tool", "tool_call_id": item.Result.CallID, "content": item.Result.Text})
		}
	}
	return list
}

// toolNamed returns the tool that a call names, or nil.
func (a *agent) toolNamed(name string) *agentTool {
	for i := range a.tools {
		if a.tools[i].Name == name {
			return &a.tools[i]
		}
	}
	return nil
}

// bind returns the config and ports of a call with valid arguments.
func (t *agentTool) bind(arguments *flow.Object) (config, ports map[string]any, err error) {
	if t.offer.Port != "" {
		if config, ports, err = t.Bind(map[string]any{t.offer.Port: arguments}); err == nil {
			maps.Copy(config, t.offer.Config)
		}
		return config, ports, err
	}
	values := map[string]any{}
	for i := range t.Open {
		if v, given := arguments.Lookup(flow.ToolArgument(t.Kind, t.Open[i].Name)); given {
			values[t.Open[i].Name] = v
		}
	}
	return t.Bind(values)
}

// readArguments returns the arguments of a call, or what is wrong with them, for the model.
func (t *agentTool) readArguments(text string) (arguments *flow.Object, wrong string) {
	arguments, wrong, err := t.ReadArguments(context.Background(), text)
	if err != nil {
		wrong = err.Error()
	}
	return arguments, wrong
}

// countCall counts a call that was made.
func (a *agent) countCall(tool string) {
	a.made++
	a.madeBy = maps.Clone(a.madeBy)
	a.madeBy[tool]++
}
