package agents

import (
	"encoding/json"

	"sluice/flow"
	"sluice/providers"
)

// turnItems reads the items that a turn recorded.
func turnItems(outputs map[string]any) (items []providers.Item, err error) {
	list, _ := outputs["items"].([]any)
	for _, v := range list {
		item, plain := plainItem(v)
		if !plain {
			if err := json.Unmarshal(flow.EncodeJSON(v), &item); err != nil {
				return nil, err
			}
		}
		items = append(items, item)
	}
	return items, nil
}

// plainItem reads a text or a call, as nearly all items are, without a detour over JSON: an agent that waited reads all of its turns again.
func plainItem(v any) (item providers.Item, ok bool) {
	fields, ok := flow.AsObject(v)
	for name, v := range fields.All() {
		switch name {
		case "type":
			item.Type, ok = v.(string)
		case "role":
			item.Role, ok = v.(string)
		case "text":
			item.Text, ok = v.(string)
		case "call":
			item.Call, ok = plainCall(v)
		default:
			ok = false
		}
		if !ok {
			return providers.Item{}, false
		}
	}
	return item, ok
}

// plainCall reads the call of an item.
func plainCall(v any) (call *providers.ToolCall, ok bool) {
	fields, ok := flow.AsObject(v)
	call = &providers.ToolCall{}
	for name, v := range fields.All() {
		switch name {
		case "id":
			call.ID, ok = v.(string)
		case "name":
			call.Name, ok = v.(string)
		case "arguments":
			call.Arguments, ok = v.(string)
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return call, ok
}

// callsOf returns the calls among items, in order.
func callsOf(items []providers.Item) []*providers.ToolCall {
	return (&providers.TurnResult{Items: items}).Calls()
}
