package agents

import (
	"encoding/json"
	"maps"
	"slices"

	"sluice/flow"
	"sluice/providers"
)

// An agent in a run that continues an earlier one begins with the conversation that the same agent had there: its
// prompts, turns, calls and results as they were recorded. Its turns are numbered on, so that the name of each call
// of the conversation is unique.

// memory is the conversation of an agent up to the end of a run. It is stored as JSON.
type memory struct {
	Turns   int     `json:"turns"`
	Entries []entry `json:"entries"`
}

// entry is an item of a conversation.
type entry struct {
	providers.Item
	// Outside means that the text has content from outside. A text of the user has it between marks; see flow.Enclose.
	Outside bool   `json:"outside,omitempty"`
	Call    string `json:"call_name,omitempty"` // name of the call of a result
	Full    string `json:"full,omitempty"`      // the result, if its text was cut
}

// item returns the entry as it is sent.
func (e *entry) item() providers.Item {
	item := e.Item
	item.Untrusted = e.Outside && item.Type == providers.ItemText
	if item.Result != nil {
		result := *item.Result
		result.Untrusted = e.Outside
		item.Result = &result
	}
	return item
}

// plain returns the entry without marks.
func (e *entry) plain() providers.Item {
	item := e.item()
	if item.Untrusted {
		item.Text = flow.Unmark(item.Text)
	}
	return item
}

// fromModel reports whether the model wrote an entry.
func (e *entry) fromModel() bool {
	return e.Type == providers.ItemCall || e.Type == providers.ItemOpaque || e.Type == providers.ItemText && e.Role == flow.RoleAssistant
}

// Remember implements flow.Kind.Remember.
func (l *Loop) Remember(in *flow.In, so *flow.Expansion) (any, error) {
	so.Memo = nil
	if _, err := l.Expand(in, so); err != nil && so.Memo == nil {
		return nil, err
	}
	a, _ := so.Memo.(*agent)
	if a == nil || a.turn == a.first+1 {
		return nil, nil
	}
	m := memory{Turns: a.turn - 1, Entries: a.earlier}
	if m.Entries == nil {
		m.Entries = a.prompt(in.Config["messages"])
	}
	m.Entries = slices.Clip(m.Entries)
	for i, item := range a.whole {
		if i == len(a.whole)-1 && a.last != nil { // the answer, which is a text here
			break
		}
		e := entry{Item: item}
		if item.Result != nil {
			e.Outside, e.Call = item.Result.Untrusted, a.named[i]
			if full := a.results[e.Call]; full != nil && full.Text != item.Result.Text {
				e.Full = full.Text
			}
		}
		m.Entries = append(m.Entries, e)
	}
	for _, item := range a.last {
		m.Entries = append(m.Entries, entry{Item: item})
	}
	return m, nil
}

// keepLast keeps the items of the turn that ends the agent. Calls in it are not made, so only its text is kept then.
func (a *agent) keepLast(items []providers.Item) {
	isText := func(item providers.Item) bool { return item.Type == providers.ItemText && item.Text != "" }
	if a.last = items; len(callsOf(items)) > 0 || !slices.ContainsFunc(items, isText) {
		a.last = slices.Clone(a.whole[len(a.whole)-1:])
	}
}

// remember begins the agent with the conversation that it continues, and returns it, or nil.
func (a *agent) remember() (any, error) {
	if a.in.Memory == nil {
		return nil, nil
	}
	var m memory
	if err := json.Unmarshal(flow.EncodeJSON(a.in.Memory), &m); err != nil {
		return nil, err
	}
	messages, _ := a.in.Config["messages"].([]any)
	a.first, a.turn = m.Turns, m.Turns+1
	a.earlier = append(slices.Clip(m.Entries), a.prompt(newMessages(messages))...)
	for i := range a.earlier {
		e := &a.earlier[i]
		a.untrusted = a.untrusted || e.Outside
		if e.Full != "" {
			a.results[e.Call] = &providers.ToolResult{Text: e.Full, Untrusted: e.Outside}
		}
	}
	a.addEarlier()
	a.tokens = sizeOf(a.items) / bytesPerToken
	return a.in.Memory, nil
}

// prompt returns the messages and the prompt of the agent as entries. System messages belong to the system prompt.
func (a *agent) prompt(messages any) (list []entry) {
	config, outside := maps.Clone(a.in.Config), false
	config["messages"] = messages
	for _, field := range []string{"prompt", "messages"} {
		v, set := a.in.Enclosed[field]
		if field == "messages" && set {
			all, _ := v.([]any)
			kept, _ := messages.([]any)
			v = all[max(0, len(all)-len(kept)):]
		}
		if set {
			config[field], outside = v, true
		}
	}
	in := *a.in
	in.Config = config
	for _, v := range a.Before(&in) {
		message, _ := flow.AsMap(v)
		role, _ := message["role"].(string)
		if role != flow.RoleUser && role != flow.RoleAssistant {
			continue
		}
		add := func(item providers.Item) {
			item.Role = role
			list = append(list, entry{Item: item, Outside: outside && item.Type == providers.ItemText && flow.Unmark(item.Text) != item.Text})
		}
		parts, isList := message["content"].([]any)
		if text, isText := message["content"].(string); isText {
			add(providers.Item{Type: providers.ItemText, Text: text})
		}
		for _, v := range parts {
			switch text, image := a.Part(v); {
			case !isList:
			case image == nil:
				add(providers.Item{Type: providers.ItemText, Text: text})
			case role == flow.RoleUser:
				add(providers.Item{Type: providers.ItemPicture, Source: image})
			}
		}
	}
	return list
}

// newMessages returns the messages after the last one of the assistant: an agent that continues remembers the others.
func newMessages(messages []any) []any {
	for i := len(messages) - 1; i >= 0; i-- {
		if m, _ := flow.AsMap(messages[i]); m["role"] == flow.RoleAssistant || m["role"] == "tool" {
			return messages[i+1:]
		}
	}
	return messages
}

// withoutPrompt returns fields of a turn without those whose content is in its items. System messages stay.
func withoutPrompt(fields map[string]any) map[string]any {
	if fields == nil {
		return nil
	}
	fields = maps.Clone(fields)
	delete(fields, "prompt")
	delete(fields, "images")
	if messages, isList := fields["messages"].([]any); isList {
		fields["messages"] = slices.DeleteFunc(slices.Clone(messages), func(v any) bool {
			m, _ := flow.AsMap(v)
			return m["role"] != flow.RoleSystem && m["role"] != "developer"
		})
	}
	return fields
}

// addEarlier adds the entries of earlier turns to the items. Calls of tools that the agent has lost are left
// out, and their results become texts: providers refuse calls of tools that are not in the request.
func (a *agent) addEarlier() {
	for from := 0; from < len(a.earlier); {
		to := from
		for to < len(a.earlier) && a.earlier[to].fromModel() {
			to++
		}
		said := a.earlier[from:to]
		missing := map[string]bool{} // calls by ID
		for i := range said {
			if c := said[i].Item.Call; c != nil && a.toolNamed(c.Name) == nil && (c.Name != readResultTool.Name || len(a.results) == 0) {
				missing[c.ID] = true
			}
		}
		turn := part{from: len(a.items)}
		for i := range said {
			e := &said[i]
			if e.Item.Call != nil && missing[e.Item.Call.ID] || e.Type == providers.ItemOpaque && len(missing) > 0 {
				continue // what is opaque may belong to such a call
			}
			a.items = append(a.items, e.item())
		}
		var late []providers.Item
		for ; to < len(a.earlier) && !a.earlier[to].fromModel(); to++ {
			e := &a.earlier[to]
			item := e.item()
			switch {
			case item.Result == nil:
				a.items, late = append(append(a.items, late...), item), nil
			case missing[item.Result.CallID]:
				text := item.Result.Text
				if e.Outside {
					text = flow.Enclose(text)
				}
				late = append(late, providers.Item{Type: providers.ItemText, Role: flow.RoleUser, Untrusted: e.Outside, Text: "[Result of " + e.Call + " of the tool " + item.Result.Name + ", which is not available any more]\n" + text})
			default:
				turn.calls = append(turn.calls, keptCall{len(a.items), e.Call, item.Result.Name})
				a.items = append(a.items, item)
			}
		}
		a.items = append(a.items, late...)
		if len(said) > 0 {
			a.parts = append(a.parts, turn)
		}
		from = to
	}
}
