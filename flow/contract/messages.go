package contract

import (
	"fmt"
	"slices"

	"sluice/flow"
	"sluice/flow/sorting"
)

// acceptedRoles returns the roles that messages of the input may have.
func (in *Input) acceptedRoles() []string {
	if len(in.Roles) > 0 {
		return in.Roles
	}
	return flow.MessageRoles
}

// checkMessages returns all problems of a conversation. It does not look files up.
func (in *Input) checkMessages(list []any) (problems []flow.Problem) {
	add := func(code, detail string, at ...any) {
		problems = append(problems, flow.Problem{Pointer: flow.Pointer(append([]any{in.Name}, at...)...), Code: code, Detail: detail, Node: in.Node})
	}
	if len(list) > flow.MaxMessages {
		add("too_large", fmt.Sprintf("a conversation has at most %d messages, got %d", flow.MaxMessages, len(list)))
		return problems
	}
	for i, item := range list {
		m, ok := flow.AsMap(item)
		if !ok {
			add("wrong_type", `wanted a message such as {"role": "user", "content": "…"}, got `+flow.TypeOf(item), i)
			continue
		}
		if role, _ := m["role"].(string); !slices.Contains(in.acceptedRoles(), role) {
			add("not_allowed", fmt.Sprintf("a message has the role %.40q; %q accepts %s", flow.Text(m["role"]), in.Name, flow.InputNames(in.acceptedRoles())), i, "role")
		}
		for _, name := range sorting.Keys(m) {
			if name != "role" && name != "content" {
				add("unknown", fmt.Sprintf("a message has no field %q, only role and content", name), i, name)
			}
		}
		if m["content"] == nil && m["role"] == flow.RoleAssistant {
			continue // as OpenAI's API returns it beside tool calls; it says nothing to a model
		}
		in.checkContent(m["content"], func(code, detail string, at ...any) { add(code, detail, append([]any{i, "content"}, at...)...) })
	}
	return problems
}

// checkContent reports the problems of a message's content: a text, or a list of parts in
// the format of OpenAI's chat API.
func (in *Input) checkContent(content any, add func(code, detail string, at ...any)) {
	if _, isText := content.(string); isText {
		return
	}
	parts, isList := content.([]any)
	if !isList || len(parts) == 0 {
		add("wrong_type", "the content of a message is a text or a list of parts")
		return
	}
	for i, item := range parts {
		part, _ := flow.AsMap(item)
		member, _ := part["type"].(string)
		value, has := part[member]
		_, isText := value.(string)
		switch {
		case !has || len(part) != 2 || member == "text" && !isText || member != "text" && member != "image_url":
			add("wrong_type", `wanted a part such as {"type": "text", "text": "…"} or {"type": "image_url", "image_url": {"url": "…"}}`, i)
		case member == "image_url" && !in.Images:
			add("not_allowed", fmt.Sprintf("%q takes no pictures, only text", in.Name), i)
		case member == "image_url":
			for _, p := range in.checkFiles([]any{pictureValue(value)}) {
				add(p.Code, p.Detail, i, "image_url")
			}
		}
	}
}

// pictureValue returns the file value of an image part. It drops "detail", which OpenAI's
// API accepts beside the URL.
func pictureValue(v any) any {
	o, ok := flow.AsObject(v)
	if !ok || !o.Has("detail") {
		return v
	}
	o = o.Clone()
	o.Delete("detail")
	return o
}

// mapPictures returns a copy of a conversation with every image replaced by the result of
// f, which also gets the index of the image.
func mapPictures(list []any, f func(place int, picture any) any) []any {
	list, place := slices.Clone(list), 0
	for i, item := range list {
		m, _ := flow.AsObject(item)
		parts, isList := m.Get("content").([]any)
		if !isList {
			continue
		}
		parts = slices.Clone(parts)
		for j, item := range parts {
			part, _ := flow.AsMap(item)
			if picture, ok := part["image_url"]; ok {
				parts[j] = map[string]any{"type": "image_url", "image_url": f(place, pictureValue(picture))}
				place++
			}
		}
		m = m.Clone()
		m.Set("content", parts)
		list[i] = m
	}
	return list
}

// messagesSchema adds the format of a conversation to a JSON Schema.
func (in *Input) messagesSchema(s map[string]any) {
	object := func(required []any, properties map[string]any) map[string]any {
		return map[string]any{"type": "object", "required": required, "properties": properties, "additionalProperties": false}
	}
	text := map[string]any{"type": "string"}
	part := object([]any{"type", "text"}, map[string]any{"type": map[string]any{"const": "text"}, "text": text})
	if in.Images {
		picture := map[string]any{}
		in.describeFile(picture)
		forms, _ := picture["oneOf"].([]any)
		address, _ := flow.AsMap(forms[2])
		properties, _ := flow.AsMap(address["properties"]) // a map, which the schema shares
		properties["detail"] = map[string]any{}
		part = map[string]any{"oneOf": []any{part, object([]any{"type", "image_url"}, map[string]any{"type": map[string]any{"const": "image_url"}, "image_url": picture})}}
	}
	s["items"] = object([]any{"role", "content"}, map[string]any{
		"role":    map[string]any{"enum": in.acceptedRoles()},
		"content": map[string]any{"oneOf": []any{text, map[string]any{"type": "array", "items": part, "minItems": 1}}},
	})
	s["maxItems"] = flow.MaxMessages
	s["examples"] = []any{flow.UserMessage("Hello")}
}

// messagesProblems returns the problems of a declaration's roles.
func (in *Input) messagesProblems() (list []flow.Problem) {
	for i, role := range in.Roles {
		if !slices.Contains(flow.MessageRoles, role) {
			list = append(list, flow.Problem{Pointer: flow.Pointer("roles", i), Code: "invalid", Detail: "a role is one of " + flow.InputNames(flow.MessageRoles)})
		}
	}
	if len(in.Roles) > 0 && in.Type != flow.TypeMessages {
		list = append(list, flow.Problem{Pointer: "/roles", Code: "invalid", Detail: "only an input of type messages has roles"})
	}
	return list
}
