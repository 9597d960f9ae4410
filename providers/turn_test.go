package providers

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice/flow/value"
)

// decoded parses JSON into a value with ordered objects.
func decoded(t *testing.T, text string) any {
	t.Helper()
	v, err := value.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// weather is a tool of tests.
func weather(t *testing.T) Tool {
	return Tool{Name: "weather", Description: "Tells the weather.", Strict: true,
		Parameters: decoded(t, `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}`)}
}

// callDelta is a fragment of a call on OpenAI's wire.
func callDelta(call string) string {
	return data(`{"model":"m-2026","choices":[{"index":0,"delta":{"tool_calls":[` + call + `]},"finish_reason":null}]}`)
}

// TestTurn_on_chat_completions calls two tools and sends their results back.
func TestTurn_on_chat_completions(t *testing.T) {
	t.Parallel()
	u := setup(t, func(w http.ResponseWriter, r *http.Request) {
		stream(w, delta("Let me look."), callDelta(`{"index":0,"id":"c1","type":"function","function":{"name":"weather","arguments":""}}`),
			callDelta(`{"index":0,"function":{"arguments":"{\"city\":"}}`), callDelta(`{"index":0,"function":{"arguments":"\"Oslo\"}"}}`),
			callDelta(`{"index":1,"id":"c2","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}`), finish("tool_calls"), usage(7, 3), done)
	})
	req := TurnRequest{ChatRequest: ChatRequest{Model: "m", System: "Be brief.", Prompt: "Weather?"}, Tools: []Tool{weather(t)}, Parallel: true}
	var shown strings.Builder
	r, err := u.client.Turn(brief(t), u.at("groq"), req, func(s string) { shown.WriteString(s) })
	if err != nil {
		t.Fatal(err)
	}
	want := []Item{{Type: ItemText, Role: "assistant", Text: "Let me look."},
		{Type: ItemCall, Call: &ToolCall{ID: "c1", Name: "weather", Arguments: `{"city":"Oslo"}`}},
		{Type: ItemCall, Call: &ToolCall{ID: "c2", Name: "weather", Arguments: `{"city":"Rome"}`}}}
	if !reflect.DeepEqual(r.Items, want) || r.Stop != "calls" || r.Text != "Let me look." || shown.String() != r.Text || r.Usage != (Usage{InputTokens: 7, OutputTokens: 3}) {
		t.Fatalf("got %+v, shown %q", r, shown.String())
	}
	stored, err := json.Marshal(r.Items)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(stored, &req.Items); err != nil || !reflect.DeepEqual(req.Items, want) {
		t.Fatalf("stored as %s, read as %+v, %v", stored, req.Items, err)
	}
	req.Items = append(req.Items, Item{Type: ItemResult, Result: &ToolResult{CallID: "c1", Text: "Snow"}}, Item{Type: ItemResult, Result: &ToolResult{CallID: "c2", Text: "Sun"}})
	if _, err := u.client.Turn(brief(t), u.at("groq"), req, nil); err == nil {
		t.Log("the second answer repeats IDs, which get new ones")
	}
	messages, _ := json.Marshal(u.last(t).json(t)["messages"])
	wantSent := `[{"content":"Be brief.","role":"system"},{"content":"Weather?","role":"user"},` +
		`{"content":"Let me look.","role":"assistant","tool_calls":[{"function":{"arguments":"{\"city\":\"Oslo\"}","name":"weather"},"id":"c1","type":"function"},` +
		`{"function":{"arguments":"{\"city\":\"Rome\"}","name":"weather"},"id":"c2","type":"function"}]},` +
		`{"content":"Snow","role":"tool","tool_call_id":"c1"},{"content":"Sun","role":"tool","tool_call_id":"c2"}]`
	if string(messages) != wantSent {
		t.Errorf("sent %s\nwant %s", messages, wantSent)
	}
}

// TestTurn_refuses_unpaired_calls: every provider refuses such a conversation, so it is not sent.
func TestTurn_refuses_unpaired_calls(t *testing.T) {
	t.Parallel()
	call := Item{Type: ItemCall, Call: &ToolCall{ID: "c", Name: "weather"}}
	result := Item{Type: ItemResult, Result: &ToolResult{CallID: "c"}}
	user := Item{Type: ItemText, Role: "user", Text: "And?"}
	for name, items := range map[string][]Item{"no result": {user, call}, "a message before the result": {user, call, user, result},
		"no call": {user, result}, "two calls": {user, call, call, result}, "two results": {user, call, result, result}, "an empty item": {{}}} {
		u := setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, says("x")...) })
		_, err := u.client.Turn(brief(t), u.at("groq"), TurnRequest{ChatRequest: ChatRequest{Model: "m"}, Items: items, Tools: []Tool{weather(t)}}, nil)
		if e := failure(t, err); e.Class != ClassBadRequest || len(u.asked()) != 0 {
			t.Errorf("%s: got %+v after %d calls", name, e, len(u.asked()))
		}
	}
}

// TestTurn_refuses_tools_in_extra_parameters: they would silently replace the tools.
func TestTurn_refuses_tools_in_extra_parameters(t *testing.T) {
	t.Parallel()
	u := setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, says("x")...) })
	req := turnRequest(t)
	req.Extra = map[string]any{"tools": []any{}}
	_, err := u.client.Turn(brief(t), u.at("groq"), req, nil)
	if e := failure(t, err); e.Class != ClassBadRequest || len(u.asked()) != 0 {
		t.Errorf("got %+v", e)
	}
}

// TestTool_reads_arguments accepts what models write for "no arguments", and describes mistakes.
func TestTool_reads_arguments(t *testing.T) {
	t.Parallel()
	free, tool := Tool{Name: "now"}, weather(t)
	for _, c := range []struct {
		tool      Tool
		arguments string
		want      string
		wrong     string
	}{
		{free, "", "{}", ""}, {free, "null", "{}", ""}, {free, " ", "{}", ""}, {free, "{}", "{}", ""}, {free, `{"a":1}`, `{"a":1}`, ""}, {free, "[]", "", "object"},
		{tool, `{"city":"Oslo","days":null}`, `{"city":"Oslo"}`, ""}, {tool, "", "", "city"}, {tool, `{"city":"Os`, "", "JSON"}, {tool, `{"city":3}`, "", "city"},
	} {
		args, wrong, err := c.tool.ReadArguments(t.Context(), c.arguments)
		got := ""
		if args != nil {
			got = string(value.Encode(args))
		}
		if err != nil || got != c.want || (wrong == "") != (c.wrong == "") || !strings.Contains(wrong, c.wrong) {
			t.Errorf("%q: got %s, %q, %v", c.arguments, got, wrong, err)
		}
	}
}

// TestTurn_forces_no_tool_while_thinking: Anthropic refuses the two together.
func TestTurn_forces_no_tool_while_thinking(t *testing.T) {
	t.Parallel()
	for choice, want := range map[string]string{"weather": `!tool_choice`, ChoiceRequired: `!tool_choice`, ChoiceNone: `"tool_choice":{"type":"none"}`} {
		u := setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, aFront, aText(0, "Hi"), aEnd("end_turn")) })
		req := turnRequest(t)
		req.ToolChoice, req.ThinkingBudget = choice, 2000
		if _, err := u.client.Turn(brief(t), u.at("anthropic"), req, nil); err != nil {
			t.Fatal(err)
		}
		contains(t, u.last(t).body, []string{want, `"thinking":{"budget_tokens":2000,"type":"enabled"}`})
	}
}

// TestTurn_marks_the_cache_of_Anthropic marks the system prompt and the ends of the last two
// messages of the user, so that the next turn finds the mark of this one.
func TestTurn_marks_the_cache_of_Anthropic(t *testing.T) {
	t.Parallel()
	u := setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, aFront, aText(0, "Hi"), aEnd("end_turn")) })
	req := turnRequest(t)
	for i := range 3 {
		id := "c" + itoa(i)
		req.Items = append(req.Items, Item{Type: ItemCall, Call: &ToolCall{ID: id, Name: "now"}}, Item{Type: ItemResult, Result: &ToolResult{CallID: id, Text: "r" + itoa(i)}})
	}
	if _, err := u.client.Turn(brief(t), u.at("anthropic"), req, nil); err != nil {
		t.Fatal(err)
	}
	mark := `"cache_control":{"type":"ephemeral"},`
	contains(t, u.last(t).body, []string{mark + `"content":"r1"`, mark + `"content":"r2"`, mark + `"text":"Be brief."`})
	if n := strings.Count(string(u.last(t).body), "cache_control"); n != 3 {
		t.Errorf("%d marks", n)
	}
	req.System = ""
	if _, err := u.client.Turn(brief(t), u.at("anthropic"), req, nil); err != nil {
		t.Fatal(err)
	}
	contains(t, u.last(t).body, []string{mark + `"description":"Tells the time."`})
}

// TestTurn_remembers_refusals_for_a_day asks twice once, and again after a day.
func TestTurn_remembers_refusals_for_a_day(t *testing.T) {
	t.Parallel()
	var u *upstream
	u = setup(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls := u.asked(); strings.Contains(string(calls[len(calls)-1].body), "parallel_tool_calls") {
			refuse(http.StatusBadRequest, "", "Unsupported parameter: parallel_tool_calls")(w, nil)
			return
		}
		stream(w, says("Hi")...)
	})
	now := time.Now()
	u.client.habits.now = func() time.Time { return now }
	req := turnRequest(t)
	req.Parallel = false
	for i, step := range []struct {
		model string
		later time.Duration
		asked int
	}{{"m", 0, 2}, {"m", 0, 3}, {"other", 0, 5}, {"m", 23 * time.Hour, 6}, {"m", time.Hour, 8}} {
		now = now.Add(step.later)
		req.Model = step.model
		if _, err := u.client.Turn(brief(t), u.at("groq"), req, nil); err != nil {
			t.Fatal(err)
		}
		if n := len(u.asked()); n != step.asked {
			t.Errorf("after step %d it was asked %d times, wanted %d", i, n, step.asked)
		}
	}
}

// TestChat_remembers_the_name_of_the_limit: what one chat learned, the next one uses.
func TestChat_remembers_the_name_of_the_limit(t *testing.T) {
	t.Parallel()
	var u *upstream
	u = setup(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls := u.asked(); strings.Contains(string(calls[len(calls)-1].body), `"max_tokens"`) {
			refuse(http.StatusBadRequest, "", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")(w, nil)
			return
		}
		stream(w, says("Hi")...)
	})
	for range 3 {
		if _, err := u.client.Chat(brief(t), u.at("openai_compatible"), ChatRequest{Model: "m", Prompt: "?", MaxTokens: 9}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(u.asked()); n != 4 {
		t.Errorf("asked %d times", n)
	}
}

// TestTurn_corrects_JSON_once asks for a valid answer, on every wire and with the hidden tool.
func TestTurn_corrects_JSON_once(t *testing.T) {
	t.Parallel()
	for wire, answers := range map[string][]string{
		"groq":      {chatCall(0, "x", "answer", `{"ok":"yes"}`) + chatCalls, chatCall(0, "x", "answer", `{"ok":true}`) + chatCalls},
		"gemini":    {delta("It is ok.") + chatStop, chatCall(0, "x", "answer", `{"ok":true}`) + chatStop},
		"anthropic": {aFront + aCall(0, "x", "answer", `{"ok":"yes"}`) + aEnd("tool_use"), aFront + aCall(0, "x", "answer", `{"ok":true}`) + aEnd("tool_use")},
	} {
		u := turnServer(t, answers)
		req := turnRequest(t)
		req.Schema = map[string]any{"type": "object", "properties": map[string]any{"ok": map[string]any{"type": "boolean"}}, "required": []any{"ok"}, "minProperties": 1} // no strict form
		r, err := u.client.Turn(brief(t), u.at(wire), req, nil)
		if err != nil || r.Text != `{"ok":true}` || r.Usage != (Usage{InputTokens: 14, OutputTokens: 6}) || len(r.Items) != 1 || r.Items[0].Text != r.Text {
			t.Errorf("%s: got %+v, %v", wire, r, err)
		}
		contains(t, u.last(t).body, []string{"This answer is not valid"})
	}
}

// TestTurn_lowers_schemas (R29) leaves out what Gemini and llama.cpp refuse in a tool.
func TestTurn_lowers_schemas(t *testing.T) {
	t.Parallel()
	parameters := decoded(t, `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false,"$defs":{"node":{"type":"object","properties":{"name":{"type":"string","maxLength":9000,"pattern":"^a"},"next":{"$ref":"#/$defs/node"}}}},
		"properties":{"list":{"type":"array","items":{"oneOf":[{"$ref":"#/$defs/node"},{"const":"none"}]}}},"required":["list"]}`)
	for provider, want := range map[string][]string{
		"gemini":   {`!$ref`, `!$defs`, `!$schema`, `!additionalProperties`, `!"const"`, `"enum":["none"]`, `"items":{"anyOf":[{"type":"object","properties":{"name":{"type":"string","maxLength":9000`, `{"function":{"description":"Tells the time.","name":"now"},"type":"function"}`},
		"llamacpp": {`!maxLength`, `!pattern`, `!$schema`, `"$ref"`, `"additionalProperties":false`},
		"groq":     {`"maxLength":9000`, `"pattern":"^a"`, `"$ref"`, `!$schema`},
	} {
		u := setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, says("Hi")...) })
		req := turnRequest(t)
		req.Tools = append(req.Tools, Tool{Name: "walk", Parameters: parameters})
		if _, err := u.client.Turn(brief(t), u.at(provider), req, nil); err != nil {
			t.Fatal(err)
		}
		contains(t, u.last(t).body, want)
	}
}

// TestTurn_sends_IDs_as_Mistral_wants_them: nine letters and digits, the same in call and result.
func TestTurn_sends_IDs_as_Mistral_wants_them(t *testing.T) {
	t.Parallel()
	u := setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, says("Hi")...) })
	req := turnRequest(t)
	for _, id := range []string{"toolu_0123456789", "abcDEF123"} {
		req.Items = append(req.Items, Item{Type: ItemCall, Call: &ToolCall{ID: id, Name: "now"}}, Item{Type: ItemResult, Result: &ToolResult{CallID: id}})
	}
	if _, err := u.client.Turn(brief(t), u.at("mistral"), req, nil); err != nil {
		t.Fatal(err)
	}
	ids := regexp.MustCompile(`"(?:id|tool_call_id)":"([A-Za-z0-9]{9})"`).FindAllStringSubmatch(string(u.last(t).body), -1)
	if len(ids) != 4 || ids[0][1] != ids[1][1] || ids[2][1] != "abcDEF123" || ids[3][1] != ids[2][1] {
		t.Errorf("sent %v", ids)
	}
}

// TestTurn_limits_arguments ends an endless call on every wire.
func TestTurn_limits_arguments(t *testing.T) {
	t.Parallel()
	piece := strings.Repeat("x", 1<<20)
	for provider, event := range map[string]string{"groq": callDelta(`{"index":0,"id":"c","function":{"name":"now","arguments":"` + piece + `"}}`),
		"anthropic": event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"`+piece+`"}}`),
		"openai":    rItem(rCall("c", "now", piece))} {
		u := setup(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", typeStream)
			for range 64 {
				if _, err := io.WriteString(w, event); err != nil {
					return
				}
			}
		})
		_, err := u.client.Turn(brief(t), u.at(provider), turnRequest(t), nil)
		if e := failure(t, err); e.Class != ClassTooLarge {
			t.Errorf("%s: got %+v", provider, e)
		}
	}
}
