package nodes

import (
	"slices"

	"sluice/flow"
	"sluice/nodes/agents"
	"sluice/nodes/expression"
)

// Bounds and defaults of the limits of an agent.
const (
	defaultTurns  = 20
	maxTurns      = 200
	defaultCalls  = 50
	defaultRepeat = 3
	defaultResult = 24 // KiB
	maxResult     = 1024
)

var _ = register(func(Deps) flow.Kind { return agents.AskKind(groupControl, askPeople) })

// The agent kind lets a model work with tools until it has an answer. Package agents decides what
// comes next; agent_turn.go calls the model.
var _ = register(func(d Deps) flow.Kind {
	turn, ask := turnKind(d), agents.AskKind(groupControl, askPeople)
	loop := agents.Loop{
		Turn: &turn, Ask: &ask, Test: expression.Holds, Fields: []string{"fallback", "credential"}, Before: conversationBefore, Room: agents.Room,
		Part: func(v any) (string, any) { p, _ := messagePart(v); return p.text, p.image },
	}
	for i := range chatFields {
		loop.Fields = append(loop.Fields, chatFields[i].Name)
	}
	return flow.Kind{
		Name: "agent", Title: "Agent", Group: groupModels, Icon: "bot", Class: flow.Outside,
		Summary: "Lets a language model work with tools until it has an answer.",
		Doc: "A model decides which tools to call, reads their results, and continues until it answers. A tool is another node of the flow: give it a description under *Tool*, " +
			"and connect its port *Tool* to *Tools* of the agent. The model fills the inputs of a tool that have no value and no edge; it neither sees nor changes the others. See [agents](agents.md).\n\n" +
			"Each answer of the model (a turn) and each call of a tool is a step of the run, with its own input, output, cost and retries. After a restart, recorded steps are not repeated. " +
			"A call of a tool that changes something is made at most once: if its result is lost, the model learns that its outcome is unknown.\n\n" +
			"The fields of the model are those of [Chat](#chat). The time limit of the node bounds how long the agent works, without the time in which it only waits, for example for a person. Its retries apply to each turn. At a limit, the agent answers with what it has, unless *At a limit* says otherwise.",
		Fields: slices.Concat(chatFields, []flow.Field{
			{Name: "max_turns", Title: "Turns", Type: flow.FieldInteger, Default: defaultTurns, Min: ptr(1), Max: ptr(maxTurns), Limit: true,
				Help: "Answers of the model, at most. One more is asked for to answer at a limit."},
			{Name: "max_calls", Title: "Max calls", Type: flow.FieldInteger, Default: defaultCalls, Min: ptr(0), Max: ptr(flow.MaxToolCalls), More: true,
				Help: "Calls of tools, at most."},
			{Name: "max_usd", Title: "Dollars", Type: flow.FieldNumber, Typed: true, Min: ptr(0.000001), Max: ptr(flow.MaxUSD.Dollars()), Limit: true,
				Help: "What turns, calls and the runs that they start may cost together, at most. Models need a price."},
			{Name: "parallel", Title: "Calls in parallel", Type: flow.FieldBoolean, Typed: true, Default: true, More: true,
				Help: "Runs the calls of one turn at the same time instead of in order."},
			{Name: "on_limit", Title: "At a limit", Type: flow.FieldSelect, Typed: true, Options: []string{agents.LimitAnswer, agents.LimitFail, agents.LimitRoute},
				Labels: []string{"Answer", "Fail", "Branch"}, Default: agents.LimitAnswer, Limit: true, Help: "What happens at a limit, or when the model repeats itself: the agent answers with what it has, fails, or takes its branch Limited."},
			{Name: "repeat_limit", Title: "Repeat limit", Type: flow.FieldInteger, Typed: true, Default: defaultRepeat, Min: ptr(1), Max: ptr(20), More: true,
				Help: "The same call with the same result is not made again after this number; after twice as many attempts the agent stops."},
			{Name: "result_limit", Title: "Result limit (KiB)", Type: flow.FieldInteger, Typed: true, Default: defaultResult, Min: ptr(1), Max: ptr(maxResult), More: true,
				Help: "Longer results of tools are cut; the model can read the rest with read_result."},
			{Name: "compact_at", Title: "Compact at (tokens)", Type: flow.FieldInteger, Typed: true, Min: ptr(1000), Max: ptr(100_000_000), More: true,
				Help: "From this estimated length on, old results are removed from the conversation, or a summary replaces old turns. Default: 80 % of the context window of a well-known model, otherwise 24,000."},
			fallbackField, credentialField,
		}, agents.AskFields),
		Inputs: []flow.Port{{Name: "tools", Title: "Tools", Type: flow.TypeTool, List: true, Help: "The nodes that the model may call."}},
		Outputs: []flow.Port{
			{Name: "text", Title: "Text", Type: flow.TypeText, Optional: true, Help: "The answer."},
			{Name: "json", Title: "JSON", Type: flow.TypeJSON, Optional: true, Help: "The answer as a value, when there is a schema."},
			{Name: "finish", Title: "Finish reason", Type: flow.TypeText, Help: "Why the agent ended: stop, limit, stuck, or length if the answer was truncated at max tokens."},
			{Name: "messages", Title: "Messages", Type: flow.TypeList, Help: "The whole conversation with calls and results, for the messages of another node. The system prompt is not part of it."},
			{Name: "calls", Title: "Calls", Type: flow.TypeList, Help: "The calls of tools: path, tool, state and usd."},
			{Name: "citations", Title: "Citations", Type: flow.TypeJSON, Schema: map[string]any{"type": "object"}, Help: "The sources that the tools quoted, by the number that the answer cites: title, link, page and source. Connect it to an output, and chats, forms and results show footnotes."},
			{Name: "usage", Title: "Usage", Type: flow.TypeJSON, Help: "Turns, calls, tokens and dollars."},
			{Name: "limited", Title: "Limited", Type: flow.TypeJSON, Optional: true, More: true, Help: "With the finish reason, if the agent reached a limit and At a limit is route. There is no answer then."},
		},
		Example: flow.Example{
			Config: map[string]any{"model": "openai/gpt-5-nano", "system": "Answer with the tools only.", "prompt": "{{question}}"},
			Ports:  map[string]any{"question": "Where is my order 17?"},
		},
		DynamicSchema: chatPorts,
		Sends:         modelDestination,
		Check: func(n *flow.Node) []flow.Problem {
			return slices.Concat(checkModel(taskChat)(n), checkSchema(n), checkSettings(n), checkFallback(n), checkURL(n, agents.AskURL), agents.CheckAsk(n, isDelay))
		},
		Charge:      chargeChat,
		Alternative: fallbackConfig,
		Expand:      loop.Expand,
		Edit:        agents.Edit,
		Remember:    loop.Remember,
	}
})
