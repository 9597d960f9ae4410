package providers

import (
	"fmt"
	"strings"
)

// turnCases are the rows of the conformance table of turns.
func turnCases() []turnCase {
	all := append(callCases(), carriedCases()...)
	all = append(all, brokenCases()...)
	all = append(all, refusedCases()...)
	return append(all, schemaCases()...)
}

// reason asks for reasoning.
func reason(r *TurnRequest) { r.Effort = "low" }

// callCases are the forms in which servers send calls.
func callCases() []turnCase {
	five := []string{`{"city":"a"}`, `{"city":"b"}`, `{"city":"c"}`, `{"city":"d"}`, `{"city":"e"}`}
	var chatFive, aFive string
	var rFive []string
	for i, a := range five {
		id := "c" + itoa(i+1)
		chatFive += chatCall(i, id, "weather", a)
		aFive += aCall(i, id, "weather", a[:4], a[4:])
		rFive = append(rFive, rCall(id, "weather", a))
	}
	huge := `{"city":"` + strings.Repeat("Århus ", 200_000) + `"}`
	var chatHuge, aHuge []string
	for i := 0; i < len(huge); i += 50_001 { // inside characters, as bytes
		chatHuge = append(chatHuge, huge[i:min(i+50_001, len(huge))])
	}
	aHuge = chatHuge
	pieces := func(fragments []string) (all string) {
		all = callDelta(`{"index":0,"id":"c1","type":"function","function":{"name":"weather","arguments":""}}`)
		for _, f := range fragments {
			all += callDelta(`{"index":0,"function":{"arguments":"` + strings.ReplaceAll(f, `"`, `\"`) + `"}}`)
		}
		return all
	}
	aPieces := func(fragments []string) string {
		var deltas []string
		for _, f := range fragments {
			deltas = append(deltas, `{"type":"input_json_delta","partial_json":"`+strings.ReplaceAll(f, `"`, `\"`)+`"}`)
		}
		return aBlock(0, `{"type":"tool_use","id":"c1","name":"weather","input":{}}`, deltas...)
	}
	split := `{"city":"😀"}`
	one := outcome{stop: "calls", calls: calls(oslo)}
	two := outcome{stop: "calls", calls: calls(oslo, rome)}
	both := func(answer string) map[string][]string { return same(answer, "chat", "gemini", "chat:ollama") }
	with := func(m map[string][]string, wire, answer string) map[string][]string {
		m[wire] = []string{answer}
		return m
	}
	return []turnCase{
		{name: "one call", live: &liveTurn{prompt: "What is the weather in Oslo? Use the tool.", least: 1, most: 1}, want: one, answers: map[string][]string{
			"chat":   {callDelta(`{"index":0,"id":"c1","type":"function","function":{"name":"weather","arguments":""}}`) + callDelta(`{"index":0,"function":{"arguments":"{\"city\""}}`) + callDelta(`{"index":0,"function":{"arguments":":\"Oslo\"}"}}`) + chatCalls},
			"gemini": {chatCall(0, "c1", "weather", oslo) + chatStop}, "responses": {rAnswer(rCall("c1", "weather", oslo))}, "anthropic": {aFront + aCall(0, "c1", "weather", "", `{"ci`, `ty":"Oslo"}`) + aEnd("tool_use")}}},
		{name: "text and a call", want: outcome{text: "Let me look.", stop: "calls", calls: calls(oslo)}, answers: map[string][]string{
			"chat": {delta("Let me ") + delta("look.") + chatCall(0, "c1", "weather", oslo) + chatCalls}, "gemini": {delta("Let me look.") + chatCall(0, "c1", "weather", oslo) + chatStop},
			"responses": {rText("Let me ") + rText("look.") + rAnswer(rMessage("Let me look."), rCall("c1", "weather", oslo))}, "anthropic": {aFront + aText(0, "Let me look.") + aCall(1, "c1", "weather", oslo) + aEnd("tool_use")}},
			back: map[string][]string{"chat": {`"content":"Let me look.","role":"assistant","tool_calls"`}, "anthropic": {`{"text":"Let me look.","type":"text"},{"id":"c1"`}, "responses": {`{"content":"Let me look.","role":"assistant"},{"arguments"`}}},
		{name: "parallel calls", live: &liveTurn{prompt: "What is the weather in Oslo and in Rome? Call the tool for both at once.", least: 1, most: 2}, want: two, answers: map[string][]string{
			"chat":   {chatCall(0, "c1", "weather", oslo) + chatCall(1, "c2", "weather", rome) + chatCalls},
			"gemini": {chatCall(0, "c1", "weather", oslo) + chatCall(1, "c2", "weather", rome) + chatStop}, "responses": {rAnswer(rCall("c1", "weather", oslo), rCall("c2", "weather", rome))},
			"anthropic": {aFront + aCall(0, "c1", "weather", oslo) + aCall(1, "c2", "weather", rome) + aEnd("tool_use")}},
			back: map[string][]string{"anthropic": {`"tool_use_id":"c1","type":"tool_result"},{"cache_control":{"type":"ephemeral"},"content":"Result of c2"`}}},
		{name: "fragments of two calls in turns", want: two, answers: map[string][]string{
			"chat": {callDelta(`{"index":0,"id":"c1","function":{"name":"weather","arguments":""}}`) + callDelta(`{"index":1,"id":"c2","function":{"name":"weather","arguments":""}}`) +
				callDelta(`{"index":0,"function":{"arguments":"{\"city\":"}}`) + callDelta(`{"index":1,"function":{"arguments":"{\"city\":\"Rome\"}"}}`) + callDelta(`{"index":0,"function":{"arguments":"\"Oslo\"}"}}`) + chatCalls},
			"anthropic": {aFront + event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c1","name":"weather","input":{}}}`) +
				event("content_block_start", `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c2","name":"weather","input":{}}}`) +
				event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}}`) +
				event("content_block_delta", `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\":\"Rome\"}"}}`) +
				event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\"Oslo\"}"}}`) + aEnd("tool_use")}}},
		{name: "five calls of one tool", live: &liveTurn{prompt: "What is the weather in Oslo, Rome, Paris, Lima and Cairo? Call the tool five times at once.", least: 1, most: 5}, want: outcome{stop: "calls", calls: calls(five...)}, answers: map[string][]string{
			"chat": {chatFive + chatCalls}, "gemini": {chatFive + chatStop}, "responses": {rAnswer(rFive...)}, "anthropic": {aFront + aFive + aEnd("tool_use")}}},
		{name: "the same index for all calls", want: two, answers: both(chatCall(0, "c1", "weather", oslo) + chatCall(0, "c2", "weather", rome) + chatCalls)},
		{name: "the same index and no ID", want: outcome{stop: "calls", calls: []ToolCall{{"call_1", "weather", oslo}, {"call_2", "weather", rome}}},
			answers: both(callDelta(`{"index":0,"function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}`) + callDelta(`{"index":0,"function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}`) + chatCalls)},
		{name: "no index", want: two, answers: both(callDelta(`{"id":"c1","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}},{"id":"c2","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}`) + chatCalls)},
		{name: "no index and fragments", want: two, answers: both(callDelta(`{"id":"c1","function":{"name":"weather","arguments":"{\"city\":"}}`) + callDelta(`{"function":{"arguments":"\"Oslo\"}"}}`) +
			callDelta(`{"id":"c2","function":{"name":"weather","arguments":""}}`) + callDelta(`{"function":{"arguments":"{\"city\":\"Rome\"}"}}`) + chatCalls)},
		{name: "no ID", want: outcome{stop: "calls", calls: []ToolCall{{"call_1", "weather", oslo}, {"call_2", "now", "{}"}}}, answers: map[string][]string{
			"chat":      {callDelta(`{"index":0,"function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}},{"index":1,"id":null,"function":{"name":"now","arguments":"{}"}}`) + chatCalls},
			"gemini":    {callDelta(`{"id":"","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}},{"id":"","function":{"name":"now","arguments":"{}"}}`) + chatStop},
			"responses": {rAnswer(strings.Replace(rCall("", "weather", oslo), `"call_id":"",`, ``, 1), rCall("", "now", "{}"))},
			"anthropic": {aFront + aCall(0, "", "weather", oslo) + aCall(1, "", "now", "{}") + aEnd("tool_use")}}},
		{name: "the same ID twice", want: outcome{stop: "calls", calls: []ToolCall{{"c1", "weather", oslo}, {"call_2", "weather", rome}}}, answers: map[string][]string{
			"chat": {chatCall(0, "c1", "weather", oslo) + chatCall(1, "c1", "weather", rome) + chatCalls}, "gemini": {chatCall(0, "c1", "weather", oslo) + chatCall(0, "c1", "weather", rome) + chatStop},
			"responses": {rAnswer(rCall("c1", "weather", oslo), rCall("c1", "weather", rome))}, "anthropic": {aFront + aCall(0, "c1", "weather", oslo) + aCall(1, "c1", "weather", rome) + aEnd("tool_use")}}},
		{name: "empty arguments", live: &liveTurn{prompt: "What time is it? Use the tool.", least: 1, most: 1}, want: outcome{stop: "calls", calls: []ToolCall{{"c1", "now", ""}}}, answers: map[string][]string{
			"chat": {chatCall(0, "c1", "now", "") + chatCalls}, "gemini": {chatCall(0, "c1", "now", "") + chatStop}, "responses": {rAnswer(rCall("c1", "now", ""))}},
			back: map[string][]string{"chat": {`"arguments":"{}"`}, "gemini": {`"arguments":"{}"`}, "responses": {`"arguments":"{}"`}}},
		{name: "no input", want: outcome{stop: "calls", calls: []ToolCall{{"c1", "now", "{}"}}}, answers: same(aFront+aCall(0, "c1", "now")+aEnd("tool_use"), "anthropic"), back: map[string][]string{"anthropic": {`"input":{}`}}},
		{name: "arguments are null", want: outcome{stop: "calls", calls: []ToolCall{{"c1", "now", ""}}}, answers: map[string][]string{
			"chat": {callDelta(`{"index":0,"id":"c1","function":{"name":"now","arguments":null}}`) + chatCalls}, "gemini": {callDelta(`{"index":0,"id":"c1","function":{"name":"now"}}`) + chatStop},
			"responses": {rAnswer(`{"type":"function_call","call_id":"c1","name":"now","arguments":null}`)}, "anthropic": {aFront + aBlock(0, `{"type":"tool_use","id":"c1","name":"now","input":null}`) + aEnd("tool_use")}}},
		{name: "arguments are an object", want: one, answers: with(with(both(callDelta(`{"index":0,"id":"c1","function":{"name":"weather","arguments":{"city":"Oslo"}}}`)+chatCalls),
			"responses", rAnswer(`{"type":"function_call","call_id":"c1","name":"weather","arguments":{"city":"Oslo"}}`)), "anthropic", aFront+aBlock(0, `{"type":"tool_use","id":"c1","name":"weather","input":{"city":"Oslo"}}`)+aEnd("tool_use"))},
		{name: "arguments after a placeholder", want: one, answers: both(callDelta(`{"index":0,"id":"c1","function":{"name":"weather","arguments":"{}"}}`) + callDelta(`{"index":0,"function":{"arguments":"{\"city\":"}}`) + callDelta(`{"index":0,"function":{"arguments":"\"Oslo\"}"}}`) + chatCalls)},
		{name: "name and ID in each fragment", want: two, answers: both(callDelta(`{"index":0,"id":"c1","function":{"name":"weather","arguments":"{\"city\":"}}`) + callDelta(`{"index":0,"id":"c1","function":{"name":"weather","arguments":"\"Oslo\"}"}}`) +
			callDelta(`{"index":0,"id":"c1","function":{"name":"weather","arguments":""}}`) + callDelta(`{"index":1,"id":"c2","function":{"name":"weather","arguments":"{\"city\":\"Ro"}}`) + callDelta(`{"index":1,"id":"c2","function":{"name":"weather","arguments":"me\"}"}}`) + chatCalls)},
		{name: "name in each fragment", want: outcome{stop: "calls", calls: []ToolCall{{"call_1", "weather", oslo}}}, answers: both(callDelta(`{"index":0,"function":{"name":"weather","arguments":"{\"city\":"}}`) + callDelta(`{"index":0,"function":{"name":"weather","arguments":"\"Oslo\"}"}}`) + chatCalls)},
		{name: "calls with the reason stop", want: one, answers: with(both(chatCall(0, "c1", "weather", oslo)+chatStop), "anthropic", aFront+aCall(0, "c1", "weather", oslo)+aEnd("end_turn"))},
		{name: "calls without a reason", want: outcome{stop: "calls", calls: calls(oslo), usage: Usage{Incomplete: true}}, answers: both(chatCall(0, "c1", "weather", oslo) + done)},
		{name: "calls repeated in a whole message", want: one, answers: both(chatCall(0, "c1", "weather", oslo) +
			data(`{"model":"m-2026","choices":[{"index":0,"message":{"content":"","tool_calls":[{"id":"c1","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},"finish_reason":"tool_calls"}]}`) + usage(7, 3) + done)},
		{name: "an answer that is not streamed", want: outcome{text: "Look:", stop: "calls", calls: calls(oslo)}, answers: map[string][]string{
			"chat":      {`{"model":"m-2026","choices":[{"index":0,"message":{"role":"assistant","content":"Look:","tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`},
			"responses": {`{"object":"response","status":"completed","model":"m-2026","output":[` + rMessage("Look:") + `,` + rCall("c1", "weather", oslo) + `],"usage":{"input_tokens":7,"output_tokens":3}}`},
			"anthropic": {`{"type":"message","model":"m-2026","content":[{"type":"text","text":"Look:"},{"type":"tool_use","id":"c1","name":"weather","input":{"city":"Oslo"}}],"stop_reason":"tool_use","usage":{"input_tokens":7,"output_tokens":3}}`}}},
		{name: "calls only in the last event", want: one, answers: map[string][]string{"responses": {rEnd(rCall("c1", "weather", oslo))}}},
		{name: "calls missing in the last event", want: one, answers: map[string][]string{"responses": {rItem(rCall("c1", "weather", oslo)) + rEnd()}}},
		{name: "huge arguments", want: outcome{stop: "calls", calls: calls(huge)}, answers: map[string][]string{
			"chat": {pieces(chatHuge) + chatCalls}, "gemini": {chatCall(0, "c1", "weather", huge) + chatStop}, "responses": {rAnswer(rCall("c1", "weather", huge))}, "anthropic": {aFront + aPieces(aHuge) + aEnd("tool_use")}}},
		{name: "a character split between fragments", live: &liveTurn{prompt: "Call the tool weather with the city \"Århus 😀\".", least: 1, most: 1}, want: outcome{stop: "calls", calls: calls(split)}, answers: map[string][]string{
			"chat":      {pieces([]string{`{"city":"\ud83d`, `\ude00"}`}) + chatCalls},
			"anthropic": {aFront + aPieces([]string{`{"city":"\ud83d`, `\ude00"}`}) + aEnd("tool_use")}}},
		{name: "invalid UTF-8 in arguments", want: outcome{stop: "calls", calls: calls("{\"city\":\"\uFFFD\"}")}, answers: map[string][]string{
			"chat": {pieces([]string{"{\"city\":\"\xff\"}"}) + chatCalls}, "gemini": {pieces([]string{"{\"city\":\"\xff\"}"}) + chatStop}, "responses": {rAnswer(strings.Replace(rCall("c1", "weather", `{"city":"X"}`), "X", "\xff", 1))},
			"anthropic": {aFront + aPieces([]string{"{\"city\":\"\xff\"}"}) + aEnd("tool_use")}}},
		{name: "arguments that are not JSON", want: outcome{stop: "calls", calls: calls(`{"city":`)}, answers: map[string][]string{
			"chat": {chatCall(0, "c1", "weather", `{"city":`) + chatCalls}, "gemini": {chatCall(0, "c1", "weather", `{"city":`) + chatStop}, "responses": {rAnswer(rCall("c1", "weather", `{"city":`))}, "anthropic": {aFront + aCall(0, "c1", "weather", `{"city":`) + aEnd("tool_use")}},
			back: map[string][]string{"chat": {`"arguments":"{\"arguments\":\"{\\\"city\\\":\"}"`}, "anthropic": {`"input":{"arguments":"{\"city\":"}`}}},
		{name: "an unknown tool", want: outcome{stop: "calls", calls: []ToolCall{{"c1", "rm -rf", "{}"}}}, answers: map[string][]string{
			"chat": {chatCall(0, "c1", "rm -rf", "{}") + chatCalls}, "gemini": {chatCall(0, "c1", "rm -rf", "{}") + chatStop}, "responses": {rAnswer(rCall("c1", "rm -rf", "{}"))}, "anthropic": {aFront + aCall(0, "c1", "rm -rf", "{}") + aEnd("tool_use")}},
			back: map[string][]string{"chat": {`"name":"rm_-rf"`}, "gemini": {`"name":"rm_-rf"`}, "responses": {`"name":"rm_-rf"`}, "anthropic": {`"name":"rm_-rf"`}}},
		{name: "usage", live: &liveTurn{prompt: "What is the weather in Oslo? Use the tool.", least: 1, most: 1}, want: outcome{stop: "calls", calls: calls(oslo), usage: Usage{InputTokens: 100, OutputTokens: 50, CacheRead: 64, Reasoning: 30}}, answers: map[string][]string{
			"chat":      {chatCall(0, "c1", "weather", oslo) + finish("tool_calls") + data(`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":50,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":30}}}`) + done},
			"gemini":    {chatCall(0, "c1", "weather", oslo) + finish("stop") + data(`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":64}}}`) + done},
			"responses": {strings.Replace(rAnswer(rCall("c1", "weather", oslo)), `"usage":{"input_tokens":7,"output_tokens":3,"total_tokens":10}`, `"usage":{"input_tokens":100,"output_tokens":50,"input_tokens_details":{"cached_tokens":64},"output_tokens_details":{"reasoning_tokens":30}}`, 1)},
			"anthropic": {strings.Replace(aFront, `"input_tokens":7`, `"input_tokens":36,"cache_read_input_tokens":64`, 1) + aCall(0, "c1", "weather", oslo) + strings.Replace(aEnd("tool_use"), `"output_tokens":3`, `"output_tokens":50,"output_tokens_details":{"thinking_tokens":30}`, 1)}}},
		{name: "only text", live: &liveTurn{prompt: "Say hello in one word. Call no tool."}, want: outcome{text: "It is sunny.", stop: "stop"}, answers: map[string][]string{
			"chat": {delta("It is sunny.") + chatStop}, "gemini": {delta("It is sunny.") + chatStop}, "responses": {rText("It is ") + rText("sunny.") + rAnswer(rMessage("It is sunny."))}, "anthropic": {aFront + aText(0, "It is sunny.") + aEnd("end_turn")}}},
		{name: "a forced tool", live: &liveTurn{prompt: "What is the weather in Oslo?", least: 1, most: 1}, request: func(r *TurnRequest) { r.ToolChoice = "weather" }, want: one, answers: map[string][]string{
			"chat": {chatCall(0, "c1", "weather", oslo) + chatStop}, "gemini": {chatCall(0, "c1", "weather", oslo) + chatStop}, "responses": {rAnswer(rCall("c1", "weather", oslo))}, "anthropic": {aFront + aCall(0, "c1", "weather", oslo) + aEnd("tool_use")}},
			sent: map[string][]string{"chat": {`"tool_choice":{"function":{"name":"weather"},"type":"function"}`}, "gemini": {`"tool_choice":{"function":{"name":"weather"},"type":"function"}`}, "responses": {`"tool_choice":{"name":"weather","type":"function"}`}, "anthropic": {`"tool_choice":{"name":"weather","type":"tool"}`}}},
		{name: "some tool is required", live: &liveTurn{prompt: "What is the weather in Oslo?", least: 1, most: 2}, request: func(r *TurnRequest) { r.ToolChoice = ChoiceRequired }, want: one, answers: map[string][]string{
			"chat": {chatCall(0, "c1", "weather", oslo) + chatStop}, "gemini": {chatCall(0, "c1", "weather", oslo) + chatStop}, "responses": {rAnswer(rCall("c1", "weather", oslo))}, "anthropic": {aFront + aCall(0, "c1", "weather", oslo) + aEnd("tool_use")}},
			sent: map[string][]string{"chat": {`"tool_choice":"required"`}, "gemini": {`"tool_choice":"required"`}, "responses": {`"tool_choice":"required"`}, "anthropic": {`"tool_choice":{"type":"any"}`}}},
		{name: "no tool may be called", live: &liveTurn{prompt: "What is the weather in Oslo?"}, request: func(r *TurnRequest) { r.ToolChoice = ChoiceNone }, want: outcome{text: "Hi", stop: "stop"}, answers: map[string][]string{
			"chat": {delta("Hi") + chatStop}, "gemini": {delta("Hi") + chatStop}, "responses": {rAnswer(rMessage("Hi"))}, "anthropic": {aFront + aText(0, "Hi") + aEnd("end_turn")}},
			sent: map[string][]string{"chat": {`"tool_choice":"none"`, `"name":"weather"`}, "gemini": {`"tool_choice":"none"`}, "responses": {`"tool_choice":"none"`, `"name":"weather"`}, "anthropic": {`"tool_choice":{"type":"none"}`, `"name":"weather"`}}},
		{name: "one call at a time", live: &liveTurn{prompt: "What is the weather in Oslo and in Rome?", least: 1, most: 1}, request: func(r *TurnRequest) { r.Parallel = false }, want: one, answers: map[string][]string{
			"chat": {chatCall(0, "c1", "weather", oslo) + chatStop}, "gemini": {chatCall(0, "c1", "weather", oslo) + chatStop}, "responses": {rAnswer(rCall("c1", "weather", oslo))}, "anthropic": {aFront + aCall(0, "c1", "weather", oslo) + aEnd("tool_use")}},
			sent: map[string][]string{"chat": {`"parallel_tool_calls":false`}, "gemini": {`!parallel`}, "responses": {`"parallel_tool_calls":false`}, "anthropic": {`"tool_choice":{"disable_parallel_tool_use":true,"type":"auto"}`}}},
	}
}

// carriedCases have parts that must be sent back.
func carriedCases() []turnCase {
	one := outcome{stop: "calls", calls: calls(oslo)}
	signed := `{"index":0,"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"},"extra_content":{"google":{"thought_signature":"SIG=="}}}`
	thought := aBlock(0, `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"Hm, "}`, `{"type":"thinking_delta","thinking":"Oslo."}`, `{"type":"signature_delta","signature":"SIG=="}`)
	rs := `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"SIG=="}`
	return []turnCase{
		{name: "a signature with the call", want: one, answers: map[string][]string{"gemini": {callDelta(signed) + chatStop}}, back: map[string][]string{"gemini": {`"extra_content":{"google":{"thought_signature":"SIG=="}},"function":{"arg`}}},
		{name: "a signature in a delta of its own", want: one, answers: map[string][]string{
			"gemini":    {chatCall(0, "c1", "weather", oslo) + callDelta(`{"index":0,"extra_content":{"google":{"thought_signature":"SIG=="}}}`) + chatStop},
			"anthropic": {aFront + aBlock(0, `{"type":"thinking","thinking":"","signature":""}`, `{"type":"signature_delta","signature":"SIG=="}`) + aCall(1, "c1", "weather", oslo) + aEnd("tool_use")},
			"responses": {rAnswer(rs, rCall("c1", "weather", oslo))}},
			back: map[string][]string{"gemini": {`"extra_content":{"google":{"thought_signature":"SIG=="}},"function":{"arg`}, "anthropic": {`{"signature":"SIG==","thinking":"","type":"thinking"},{"id":"c1"`}, "responses": {rs + `,{"arguments"`}}},
		{name: "a signature of the first of two calls", want: outcome{stop: "calls", calls: calls(oslo, rome)}, answers: map[string][]string{"gemini": {callDelta(signed) + chatCall(0, "c2", "weather", rome) + chatStop}},
			back: map[string][]string{"gemini": {`"extra_content":{"google":{"thought_signature":"SIG=="}},"function":{"arguments":"{\"city\":\"Oslo\"}"`, `!SIG=="}},"function":{"arguments":"{\"city\":\"Rome\"}"`}}},
		{name: "a signature of a text", want: outcome{text: "Hi", stop: "stop"}, answers: map[string][]string{"gemini": {delta("Hi") + chatSays(`"content":"","extra_content":{"google":{"thought_signature":"SIG=="}}`) + chatStop}},
			back: map[string][]string{"gemini": {`{"content":"Hi","extra_content":{"google":{"thought_signature":"SIG=="}},"role":"assistant"}`}}},
		{name: "reasoning and a call", live: &liveTurn{prompt: "Which is colder, Oslo or Rome? Use the tool for both.", least: 1, most: 2}, request: reason, want: one, answers: map[string][]string{
			"chat:deepseek": {chatSays(`"reasoning_content":"Hm, "`) + chatSays(`"reasoning_content":"Oslo."`) + chatCall(0, "c1", "weather", oslo) + chatCalls},
			"gemini":        {callDelta(signed) + chatStop}, "responses": {rAnswer(rs, rCall("c1", "weather", oslo))}, "anthropic": {aFront + thought + aCall(1, "c1", "weather", oslo) + aEnd("tool_use")}},
			sent: map[string][]string{"responses": {`"store":false`, `"include":["reasoning.encrypted_content"]`, `"reasoning":{"effort":"low"}`}, "anthropic": {`"thinking":{"type":"adaptive"}`}},
			back: map[string][]string{"chat": {`"reasoning_content":"Hm, Oslo."`}, "responses": {rs + `,{"arguments"`}, "anthropic": {`{"signature":"SIG==","thinking":"Hm, Oslo.","type":"thinking"},{"id":"c1"`}}},
		{name: "reasoning between calls", request: reason, want: outcome{stop: "calls", calls: calls(oslo, rome)}, answers: map[string][]string{
			"responses": {rAnswer(rs, rCall("c1", "weather", oslo), strings.Replace(rs, "rs_1", "rs_2", 1), rCall("c2", "weather", rome))},
			"anthropic": {aFront + thought + aCall(1, "c1", "weather", oslo) + strings.ReplaceAll(thought, `"index":0`, `"index":2`) + aCall(3, "c2", "weather", rome) + aEnd("tool_use")}},
			back: map[string][]string{"responses": {`"type":"function_call"},` + strings.Replace(rs, "rs_1", "rs_2", 1) + `,{"arguments"`}, "anthropic": {`"type":"tool_use"},{"signature":"SIG=="`}}},
		{name: "reasoning that is not encrypted", want: one, answers: map[string][]string{"responses": {rAnswer(`{"type":"reasoning","id":"rs_1","summary":[]}`, rCall("c1", "weather", oslo))}}, back: map[string][]string{"responses": {`!rs_1`}}},
		{name: "thinking without a signature", want: one, answers: map[string][]string{"anthropic": {aFront + aBlock(0, `{"type":"thinking","thinking":"Hm."}`) + aCall(1, "c1", "weather", oslo) + aEnd("tool_use")}}, back: map[string][]string{"anthropic": {`!Hm.`}}},
		{name: "redacted thinking", request: reason, want: one, answers: map[string][]string{"anthropic": {aFront + aBlock(0, `{"type":"redacted_thinking","data":"BLOB"}`) + aCall(1, "c1", "weather", oslo) + aEnd("tool_use")}}, back: map[string][]string{"anthropic": {`{"data":"BLOB","type":"redacted_thinking"},{"id":"c1"`}}},
		{name: "unknown items", want: one, answers: map[string][]string{
			"responses": {rAnswer(`{"type":"novel_item","a":[1,2]}`, rCall("c1", "weather", oslo))}, "anthropic": {aFront + aBlock(0, `{"type":"novel_block","a":[1,2]}`) + aCall(1, "c1", "weather", oslo) + aEnd("tool_use")}},
			back: map[string][]string{"responses": {`{"type":"novel_item","a":[1,2]},{"arguments"`}, "anthropic": {`{"a":[1,2],"type":"novel_block"},{"id":"c1"`}}},
		{name: "a tool of the server", want: outcome{text: "Found.", stop: "stop"}, request: func(r *TurnRequest) { r.WebSearch = true }, answers: map[string][]string{
			"anthropic": {aFront + aBlock(0, `{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"query\":\"x\"}"}`) + aBlock(1, `{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}`) + aText(2, "Found.") + aEnd("end_turn")}},
			sent: map[string][]string{"anthropic": {`"max_tokens":16384`, `"name":"web_search"`, `"name":"weather"`}}, back: map[string][]string{"anthropic": {`{"id":"s1","input":{"query":"x"},"name":"web_search","type":"server_tool_use"},{"content":[],"tool_use_id":"s1"`}}},
		{name: "a paused answer", want: outcome{text: "Half. Whole.", stop: "stop", asked: 2, usage: Usage{InputTokens: 14, OutputTokens: 6}}, answers: map[string][]string{
			"anthropic": {aFront + aText(0, "Half. ") + aEnd("pause_turn"), aFront + aText(0, "Whole.") + aEnd("end_turn")}}, sent: map[string][]string{"anthropic": {`{"content":[{"text":"Half. ","type":"text"}],"role":"assistant"}]`}}},
		{name: "details of OpenRouter", want: one, answers: map[string][]string{"chat:openrouter": {chatSays(`"reasoning_details":[{"type":"reasoning.text","text":"Hm, ","index":0}]`) + chatSays(`"reasoning_details":[{"type":"reasoning.text","text":"Oslo.","signature":"SIG==","index":0}]`) +
			chatSays(`"reasoning_details":[{"type":"reasoning.encrypted","data":"BLOB","index":1}]`) + chatCall(0, "c1", "weather", oslo) + chatCalls}},
			back: map[string][]string{"chat": {`"reasoning_details":[{"index":0,"signature":"SIG==","text":"Hm, Oslo.","type":"reasoning.text"},{"data":"BLOB","index":1,"type":"reasoning.encrypted"}]`}}},
		{name: "a phase of a message", want: outcome{text: "Looking.", stop: "calls", calls: calls(oslo)}, answers: map[string][]string{"responses": {rAnswer(strings.Replace(rMessage("Looking."), `"role"`, `"phase":"commentary","role"`, 1), rCall("c1", "weather", oslo))}},
			back: map[string][]string{"responses": {`{"content":"Looking.","phase":"commentary","role":"assistant"}`}}},
		{name: "opaque items of another provider", live: &liveTurn{prompt: "Hello.", most: 1}, want: one, request: func(r *TurnRequest) {
			r.Items = []Item{{Type: ItemOpaque, Opaque: &Opaque{Wire: "chat:other", Model: "m", Raw: []byte(`{"type":"reasoning","encrypted_content":"FOREIGN"}`)}}, {Type: ItemOpaque, Opaque: &Opaque{Wire: "responses:openai", Model: "other", Raw: []byte(`{"a":"FOREIGN"}`)}},
				{Type: ItemText, Role: "assistant", Text: "Hello."}, {Type: ItemText, Role: "user", Text: "And?"}}
		}, answers: map[string][]string{"chat": {chatCall(0, "c1", "weather", oslo) + chatCalls}, "gemini": {chatCall(0, "c1", "weather", oslo) + chatStop}, "responses": {rAnswer(rCall("c1", "weather", oslo))}, "anthropic": {aFront + aCall(0, "c1", "weather", oslo) + aEnd("tool_use")}},
			sent: map[string][]string{"chat": {"!FOREIGN", "Hello."}, "gemini": {"!FOREIGN", "Hello."}, "responses": {"!FOREIGN", "Hello."}, "anthropic": {"!FOREIGN", "Hello."}}},
		{name: "IDs of another provider", live: &liveTurn{prompt: "What time is it? Use the tool.", most: 1}, want: one, request: func(r *TurnRequest) {
			r.Items = []Item{{Type: ItemCall, Call: &ToolCall{ID: "call:ö/" + strings.Repeat("x", 70), Name: "now"}}, {Type: ItemResult, Result: &ToolResult{CallID: "call:ö/" + strings.Repeat("x", 70), Text: "noon"}}}
		}, answers: map[string][]string{"chat": {chatCall(0, "c1", "weather", oslo) + chatCalls}, "gemini": {chatCall(0, "c1", "weather", oslo) + chatStop}, "responses": {rAnswer(rCall("c1", "weather", oslo))}, "anthropic": {aFront + aCall(0, "c1", "weather", oslo) + aEnd("tool_use")}},
			sent: map[string][]string{"chat": {"!call:", "noon"}, "gemini": {"!call:", "noon"}, "responses": {"!call:", "noon"}, "anthropic": {"!call:", "noon"}}},
		{name: "a picture and an error among results", want: one, request: func(r *TurnRequest) {
			r.Items = []Item{{Type: ItemCall, Call: &ToolCall{ID: "a", Name: "now"}}, {Type: ItemResult, Result: &ToolResult{CallID: "a", Text: "no clock", Error: true}}, {Type: ItemPicture, Image: &Media{URL: "data:image/png;base64,Y2F0"}}, {Type: ItemText, Role: "user", Text: "Look."}}
		}, answers: map[string][]string{"chat": {chatCall(0, "c1", "weather", oslo) + chatCalls}, "gemini": {chatCall(0, "c1", "weather", oslo) + chatStop}, "responses": {rAnswer(rCall("c1", "weather", oslo))}, "anthropic": {aFront + aCall(0, "c1", "weather", oslo) + aEnd("tool_use")}},
			sent: map[string][]string{"chat": {`{"content":"no clock","role":"tool","tool_call_id":"a"},{"content":[{"image_url"`}, "responses": {`{"call_id":"a","output":"no clock","type":"function_call_output"},{"content":[{"image_url"`},
				"anthropic": {`{"content":"no clock","is_error":true,"tool_use_id":"a","type":"tool_result"},{"source"`}}},
	}
}

// brokenCases are answers that are not whole, or not answers.
func brokenCases() []turnCase {
	bad := outcome{class: ClassBadAnswer}
	return []turnCase{
		{name: "a call cut by the limit of tokens", live: &liveTurn{prompt: "Call the tool weather with a city whose name is the numbers from 1 to 500 in words.", maxTokens: 32, class: ClassBadAnswer}, want: outcome{class: ClassBadAnswer, says: "call of weather was cut off after 3 tokens"}, answers: map[string][]string{
			"chat": {chatCall(0, "c1", "weather", `{"ci`) + finish("length") + usage(7, 3) + done}, "gemini": {chatCall(0, "c1", "weather", `{"ci`) + finish("length") + usage(7, 3) + done},
			"responses": {rItem(rCall("c1", "weather", `{"ci`)) + rEndAs("incomplete", `{"reason":"max_output_tokens"}`, rCall("c1", "weather", `{"ci`))}, "anthropic": {aFront + aCall(0, "c1", "weather", `{"ci`) + aEnd("max_tokens")}}},
		{name: "a connection cut in a call", want: outcome{class: ClassUnavailable, says: "broke off in the call of a tool", lost: true}, answers: map[string][]string{
			"chat": {callDelta(`{"index":0,"id":"c1","function":{"name":"weather","arguments":"{"}}`) + "CUT"}, "gemini": {callDelta(`{"index":0,"id":"c1","function":{"name":"weather","arguments":"{"}}`) + "CUT"},
			"responses": {data(`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{"}`) + "CUT"}, "anthropic": {aFront + aCall(0, "c1", "weather", `{`) + "CUT"}}},
		{name: "an error in the middle of a stream", want: outcome{class: ClassUnavailable, says: "Overloaded", lost: true}, answers: map[string][]string{
			"chat": {chatCall(0, "c1", "weather", `{`) + data(`{"error":{"code":503,"message":"Overloaded"}}`)}, "gemini": {chatCall(0, "c1", "weather", `{`) + data(`{"error":{"code":503,"message":"Overloaded","status":"UNAVAILABLE"}}`)},
			"responses": {data(`{"type":"response.function_call_arguments.delta","delta":"{"}`) + data(`{"type":"error","code":"server_error","message":"Overloaded"}`)},
			"anthropic": {aFront + aCall(0, "c1", "weather", `{`) + event("error", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)}}},
		{name: "a refusal", want: outcome{class: ClassRejected, says: "refused to answer"}, answers: map[string][]string{
			"chat": {chatSays(`"refusal":"No."`) + chatStop}, "responses": {data(`{"type":"response.refusal.done","refusal":"No."}`) + rEnd()}, "anthropic": {aFront + aEnd("refusal")}}},
		{name: "a content filter", want: outcome{class: ClassRejected, says: "content filter"}, answers: map[string][]string{
			"chat": {delta("Well") + finish("content_filter") + usage(7, 3) + done}, "gemini": {finish("SAFETY") + usage(7, 3) + done}, "responses": {rEndAs("incomplete", `{"reason":"content_filter"}`)}}},
		{name: "a malformed call", want: bad, answers: map[string][]string{"gemini": {finish("function_call_filter: MALFORMED_FUNCTION_CALL") + usage(7, 3) + done}, "chat": {finish("malformed_function_call") + usage(7, 3) + done}}},
		{name: "an empty answer", want: bad, answers: map[string][]string{"chat": {chatStop}, "gemini": {chatStop}, "responses": {rEnd()}, "anthropic": {aFront + aEnd("end_turn")}}},
		{name: "the reason of calls without calls", want: bad, answers: map[string][]string{"chat": {chatCalls}, "gemini": {chatCalls}, "anthropic": {aFront + aText(0, "Hm") + aEnd("tool_use")}}},
		{name: "only reasoning", want: bad, answers: map[string][]string{"chat:deepseek": {chatSays(`"reasoning_content":"Hm."`) + chatStop}, "responses": {rAnswer(`{"type":"reasoning","summary":[],"encrypted_content":"x"}`)},
			"anthropic": {aFront + aBlock(0, `{"type":"thinking","thinking":"Hm.","signature":"x"}`) + aEnd("end_turn")}}},
		{name: "a call without a name", want: bad, answers: map[string][]string{"chat": {callDelta(`{"index":0,"id":"c1","function":{"arguments":"{}"}}`) + chatCalls}, "responses": {rAnswer(rCall("c1", "", "{}"))}, "anthropic": {aFront + aCall(0, "c1", "", "{}") + aEnd("tool_use")}}},
		{name: "a call as text", want: outcome{class: ClassIncompatible, says: "call of a tool as text"}, answers: map[string][]string{
			"chat": {delta("<tool_call>\n{\"name\":\"weather\"}</tool_call>") + chatStop}, "chat:vllm": {delta(`[TOOL_CALLS][{"name":"weather"}]`) + chatStop}}},
	}
}

// refusedCases are refusals of a part of the request.
func refusedCases() []turnCase {
	refuse := func(param, message string) string {
		return fmt.Sprintf(`400 {"error":{"message":%q,"type":"invalid_request_error","param":%q,"code":null}}`, message, param)
	}
	claude := func(message string) string {
		return fmt.Sprintf(`400 {"type":"error","error":{"type":"invalid_request_error","message":%q}}`, message)
	}
	chat, gemini, responses, anthropic := chatCall(0, "c1", "weather", oslo)+chatCalls, chatCall(0, "c1", "weather", oslo)+chatStop, rAnswer(rCall("c1", "weather", oslo)), aFront+aCall(0, "c1", "weather", oslo)+aEnd("tool_use")
	twice := outcome{stop: "calls", calls: calls(oslo), asked: 2}
	return []turnCase{
		{name: "strict is refused", want: twice, answers: map[string][]string{
			"chat": {refuse("tools", "Unknown parameter: 'tools[0].function.strict'."), chat}, "responses": {refuse("tools[0].parameters", "Invalid schema for function 'weather': In context=(), 'required' is required to be supplied."), responses},
			"anthropic": {claude("tools.0.custom.strict: Extra inputs are not permitted"), anthropic}},
			sent: map[string][]string{"chat": {`!"strict":true`, `"required":["city"]`}, "responses": {`"strict":false`, `"required":["city"]`}, "anthropic": {`!"strict"`}},
			back: map[string][]string{"chat": {`!"strict":true`}, "responses": {`!"strict":true`}, "anthropic": {`!"strict"`}}},
		{name: "the default limit is too high", want: twice, answers: map[string][]string{"anthropic": {claude("max_tokens: 16384 > 4096, which is the maximum allowed number of output tokens for claude-3-haiku"), anthropic}},
			sent: map[string][]string{"anthropic": {`"max_tokens":4096`}}, back: map[string][]string{"anthropic": {`"max_tokens":4096`}}},
		{name: "one call at a time is refused", request: func(r *TurnRequest) { r.Parallel = false }, want: twice, answers: map[string][]string{
			"chat": {refuse("parallel_tool_calls", "Unsupported parameter: 'parallel_tool_calls' is not supported with this model."), chat}, "responses": {refuse("parallel_tool_calls", "Unsupported parameter: 'parallel_tool_calls'"), responses},
			"anthropic": {claude("tool_choice.auto.disable_parallel_tool_use: Extra inputs are not permitted"), anthropic}},
			sent: map[string][]string{"chat": {`!parallel_tool_calls`}, "responses": {`!parallel_tool_calls`}, "anthropic": {`!disable_parallel`}}, back: map[string][]string{"chat": {`!parallel_tool_calls`}, "responses": {`!parallel_tool_calls`}, "anthropic": {`!disable_parallel`}}},
		{name: "an effort is refused", request: reason, want: twice, answers: map[string][]string{
			"chat": {refuse("reasoning_effort", "Unrecognized request argument supplied: reasoning_effort"), chat}, "gemini": {`400 [{"error":{"code":400,"message":"Thinking is not supported for this model.","status":"INVALID_ARGUMENT"}}]`, gemini}, "responses": {refuse("reasoning.effort", "Unsupported parameter: 'reasoning.effort' is not supported with this model."), responses}},
			sent: map[string][]string{"chat": {`!effort`}, "gemini": {`!effort`}, "responses": {`!"reasoning":`}}, back: map[string][]string{"chat": {`!effort`}, "gemini": {`!effort`}, "responses": {`!"reasoning":`}}},
		{name: "adaptive thinking and a budget are refused", request: reason, want: outcome{stop: "calls", calls: calls(oslo), asked: 3}, answers: map[string][]string{
			"anthropic": {claude("thinking.type: adaptive thinking is not supported on this model"), claude("thinking: Extra inputs are not permitted"), anthropic}},
			sent: map[string][]string{"anthropic": {`!"thinking"`}}, back: map[string][]string{"anthropic": {`!"thinking"`}}},
		{name: "encrypted reasoning is refused", want: twice, answers: map[string][]string{"responses": {refuse("include", "Encrypted content is not supported with this model."), responses}}, sent: map[string][]string{"responses": {`!include`}}, back: map[string][]string{"responses": {`!include`}}},
		{name: "the key of the cache is refused", request: func(r *TurnRequest) { r.CacheKey = "run_1" }, want: twice, answers: map[string][]string{"responses:azure": {refuse("prompt_cache_key", "Unknown parameter: 'prompt_cache_key'."), responses}}, sent: map[string][]string{"responses": {`!prompt_cache_key`}}},
		{name: "instructions are refused", want: twice, answers: map[string][]string{"responses:xai": {`400 {"code":"invalid-argument","error":"Argument not supported: instructions"}`, responses}},
			sent: map[string][]string{"responses": {`!"instructions"`, `"input":[{"content":"Be brief.","role":"system"}`}}},
		{name: "a choice is refused", request: func(r *TurnRequest) { r.ToolChoice = ChoiceRequired }, want: twice, answers: map[string][]string{"chat": {refuse("tool_choice", "tool_choice required is not supported"), chat}, "responses:xai": {refuse("tool_choice", "tool_choice is not supported"), responses}},
			sent: map[string][]string{"chat": {`!tool_choice`}, "responses": {`!tool_choice`}}},
		{name: "a stream with tools is refused", want: twice, answers: map[string][]string{"chat:llamacpp": {`400 {"error":{"code":400,"message":"Cannot use tools with stream","type":"invalid_request_error"}}`,
			`{"model":"m-2026","choices":[{"index":0,"message":{"content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`}},
			sent: map[string][]string{"chat": {`"stream":false`}}, back: map[string][]string{"chat": {`"stream":false`}}},
		{name: "calls are lost in a stream", want: outcome{stop: "calls", calls: calls(oslo), asked: 2, usage: Usage{InputTokens: 14, OutputTokens: 6}}, answers: map[string][]string{"chat:ollama": {chatStop, chat}, "chat:vllm": {chatCall(0, "c1", "weather", `{"city":`) + chatCalls, chat}},
			sent: map[string][]string{"chat": {`"stream":false`}}, back: map[string][]string{"chat": {`"stream":false`}}},
		{name: "signatures are refused", request: func(r *TurnRequest) {
			for _, origin := range []string{"chat:deepseek", "responses:openai", "anthropic:anthropic"} {
				r.Items = append(r.Items, Item{Type: ItemOpaque, Opaque: &Opaque{Wire: origin, Model: "m", Raw: []byte(`{"type":"thinking","signature":"OLD"}`)}})
				if origin == "chat:deepseek" {
					r.Items[0].Opaque.Of = ofMessage
				}
			}
			r.Items = append(r.Items, Item{Type: ItemText, Role: "assistant", Text: "Hello."}, Item{Type: ItemText, Role: "user", Text: "And?"})
		}, want: twice, answers: map[string][]string{"chat:deepseek": {refuse("", "The reasoning_content in the thinking mode must not be sent."), chat}, "responses": {refuse("input", "The encrypted content could not be verified."), responses}, "anthropic": {claude("messages.1.content.0: Invalid `signature` in `thinking` block"), anthropic}},
			sent: map[string][]string{"chat": {"!OLD", "Hello."}, "responses": {"!OLD", "Hello."}, "anthropic": {"!OLD", "Hello."}}},
		{name: "calls without reasoning are refused", request: func(r *TurnRequest) {
			r.Items = []Item{{Type: ItemCall, Call: &ToolCall{ID: "a", Name: "now"}}, {Type: ItemResult, Result: &ToolResult{CallID: "a", Text: "noon"}}}
		}, want: twice, answers: map[string][]string{"chat:deepseek": {refuse("", "The reasoning_content in the thinking mode must be passed back to the API."), chat}, "chat:openai_compatible": {refuse("", "Missing `reasoning_content` field in the assistant message at message index 2."), chat},
			"gemini": {`400 [{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts.","status":"INVALID_ARGUMENT"}}]`, gemini}},
			sent: map[string][]string{"chat": {`"reasoning_content":""`}, "gemini": {`"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}`}}},
		{name: "an item is not found", want: twice, request: func(r *TurnRequest) {
			r.Items = []Item{{Type: ItemOpaque, Opaque: &Opaque{Wire: "responses:openai", Model: "m", Raw: []byte(`{"type":"reasoning","id":"rs_OLD","encrypted_content":"x"}`)}}, {Type: ItemText, Role: "assistant", Text: "Hello."}, {Type: ItemText, Role: "user", Text: "And?"}}
		}, answers: map[string][]string{"responses": {`404 {"error":{"message":"Item with id 'rs_OLD' not found. Items are not persisted when store is set to false.","type":"invalid_request_error","param":"input","code":null}}`, responses}},
			sent: map[string][]string{"responses": {`!OLD`, `"input":[`}}},
		{name: "no model", want: outcome{class: ClassNotFound, says: "has no model m", free: true}, answers: map[string][]string{"responses": {`404 {"error":{"message":"The model m does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}`}}},
		{name: "no Responses API", want: twice, answers: map[string][]string{"responses": {"404 page not found", chat}, "responses:azure": {"404 Not Found", chat}}, sent: map[string][]string{"responses": {`"messages":[`}}, back: map[string][]string{"responses": {`"messages":[`}}},
	}
}

// schemaCases ask for JSON beside tools.
func schemaCases() []turnCase {
	withSchema := func(r *TurnRequest) {
		r.Schema = map[string]any{"type": "object", "properties": map[string]any{"ok": map[string]any{"type": "boolean"}}, "required": []any{"ok"}}
	}
	good, hidden := outcome{text: `{"ok":true}`, stop: "stop", value: `{"ok":true}`}, `"name":"answer"`
	twice := outcome{text: `{"ok":true}`, stop: "stop", value: `{"ok":true}`, asked: 2}
	answer := chatCall(0, "x", "answer", `{"ok":true}`) + chatCalls
	return []turnCase{
		{name: "JSON beside tools", live: &liveTurn{prompt: "Is two plus two four? Answer with ok."}, request: withSchema, want: good, answers: map[string][]string{
			"chat": {answer}, "gemini": {answer}, "responses": {rText(`{"ok":true}`) + rAnswer(rMessage(`{"ok":true}`))}, "anthropic": {aFront + aText(0, `{"ok":true}`) + aEnd("end_turn")}},
			sent: map[string][]string{"chat": {hidden, `!response_format`}, "gemini": {hidden, `!response_format`}, "responses": {`!` + hidden + `,"param`, `"format":{"name":"answer"`}, "anthropic": {`!` + hidden, `"output_config":{"format":{"schema":`}},
			back: map[string][]string{"chat": {`{"content":"{\"ok\":true}","role":"assistant"}`}, "gemini": {`{"content":"{\"ok\":true}","role":"assistant"}`}}},
		{name: "JSON in the text instead of the hidden tool", request: withSchema, want: good, answers: map[string][]string{"chat": {delta(`{"ok":true}`) + chatStop}, "gemini": {delta(`{"ok":true}`) + chatStop}}},
		{name: "a call before the JSON", live: &liveTurn{prompt: "Is it snowing in Oslo? Use the tool first.", least: 1, most: 1}, request: withSchema, want: outcome{stop: "calls", calls: calls(oslo)}, answers: map[string][]string{
			"chat": {chatCall(0, "c1", "weather", oslo) + chatCalls}, "gemini": {chatCall(0, "c1", "weather", oslo) + chatStop}, "responses": {rAnswer(rCall("c1", "weather", oslo))}, "anthropic": {aFront + aCall(0, "c1", "weather", oslo) + aEnd("tool_use")}}},
		{name: "a call beside the hidden tool", request: withSchema, want: outcome{stop: "calls", calls: calls(oslo)}, answers: map[string][]string{
			"chat": {chatCall(0, "c1", "weather", oslo) + chatCall(1, "x", "answer", `{"ok":true}`) + chatCalls}, "gemini": {chatCall(0, "x", "answer", `{"ok":true}`) + chatCall(1, "c1", "weather", oslo) + chatStop}}},
		{name: "the last answer with a hidden tool", request: func(r *TurnRequest) { withSchema(r); r.ToolChoice = ChoiceNone }, want: good, answers: map[string][]string{"chat": {answer}, "gemini": {answer}},
			sent: map[string][]string{"chat": {`"tool_choice":{"function":{"name":"answer"},"type":"function"}`}, "gemini": {`"tool_choice":{"function":{"name":"answer"},"type":"function"}`}}},
		{name: "a format beside tools is refused", request: withSchema, want: twice, answers: map[string][]string{
			"responses": {`400 {"error":{"message":"Unsupported parameter: 'text.format' of type 'json_schema' is not supported with tools.","param":"text.format"}}`, rAnswer(rCall("x", "answer", `{"ok":true}`))},
			"anthropic": {`400 {"type":"error","error":{"type":"invalid_request_error","message":"output_config.format: Extra inputs are not permitted"}}`, aFront + aCall(0, "x", "answer", `{"ok":true}`) + aEnd("tool_use")}},
			sent: map[string][]string{"responses": {hidden, `!"format"`}, "anthropic": {hidden, `!"format"`}}, back: map[string][]string{"responses": {hidden}, "anthropic": {hidden}}},
	}
}
