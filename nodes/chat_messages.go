package nodes

import (
	"context"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/providers"
)

// chatMessage is a message whose images have not been fetched yet.
type chatMessage struct {
	role  string
	parts []chatPart
}

// chatPart is a text or, if image is set, an image: a file value, a URL or a data URL.
type chatPart struct {
	text  string
	image any
}

// readMessages reads a conversation in the form of OpenAI's API: objects with role and
// content, which is a text or a list of parts. It returns the text of the system messages
// separately, because not every provider accepts them among the others.
func readMessages(value any) (system string, list []chatMessage, err error) {
	items, _ := value.([]any)
	if len(items) > flow.MaxMessages {
		return "", nil, flow.Errorf(flow.CodeInputInvalid, "%q has %d messages; the limit is %d.", "messages", len(items), flow.MaxMessages)
	}
	for i, item := range items {
		m, _ := flow.AsMap(item)
		role, _ := m["role"].(string)
		parts, ok := messageParts(m["content"])
		switch {
		case role == "assistant" && m["content"] == nil: // as OpenAI's API returns it beside tool calls
		case role == "tool": // the result of a call, which only the agent that made it knows
		case !ok:
			return "", nil, flow.Errorf(flow.CodeInputInvalid, "Message %d of %q has no content: wanted {\"role\": \"user\", \"content\": \"…\"}.", i+1, "messages")
		case role == "system", role == "developer":
			system = strings.TrimSpace(system + "\n\n" + textOf(parts))
		case role == "user", role == "assistant":
			list = append(list, chatMessage{role, parts})
		default:
			return "", nil, flow.Errorf(flow.CodeInputInvalid, "Message %d of %q has the role %q; wanted user, assistant or system.", i+1, "messages", role)
		}
	}
	return system, list, nil
}

// messageParts reads the content of a message. Parts that are neither text nor image,
// such as input_audio, are dropped.
func messageParts(content any) (parts []chatPart, ok bool) {
	switch content := content.(type) {
	case string:
		return []chatPart{{text: content}}, true
	case []any:
		for _, item := range content {
			if p, ok := messagePart(item); ok {
				parts = append(parts, p)
			}
		}
	}
	return parts, len(parts) > 0
}

// messagePart reads a text, an image in the form {"type": "image_url", "image_url": {"url": …}},
// or a file value.
func messagePart(item any) (chatPart, bool) {
	if _, isFile := flow.FileID(item); isFile {
		return chatPart{image: item}, true
	}
	part, _ := flow.AsMap(item)
	if text, isText := part["text"].(string); isText {
		return chatPart{text: text}, true
	}
	image := part["image_url"]
	if _, isFile := flow.FileID(image); isFile {
		return chatPart{image: image}, true
	}
	if inner, isObject := flow.AsMap(image); isObject {
		image = inner["url"]
	}
	return chatPart{image: image}, image != nil && image != ""
}

// openPictures opens the pictures among the items of a conversation.
func (d Deps) openPictures(ctx context.Context, in *flow.In, items []providers.Item, links bool) ([]providers.Item, error) {
	isPicture := func(item providers.Item) bool { return item.Source != nil }
	if !slices.ContainsFunc(items, isPicture) {
		return items, nil
	}
	g := d.imageGatherer(in, "messages", links)
	g.data, items = true, slices.Clone(items)
	for i := range items {
		if isPicture(items[i]) {
			m, err := g.gather(ctx, items[i].Source)
			if err != nil {
				return nil, err
			}
			items[i].Image = &m
		}
	}
	return items, nil
}

// textOf joins the texts of a message.
func textOf(parts []chatPart) string {
	var texts []string
	for _, p := range parts {
		if p.image == nil {
			texts = append(texts, p.text)
		}
	}
	return strings.Join(texts, "\n")
}

// history converts a conversation to the turns of a request and fetches its images. Images
// of the assistant are dropped, because providers accept none from it.
func (d Deps) history(ctx context.Context, in *flow.In, list []chatMessage, links bool) ([]providers.ChatTurn, error) {
	g, images := d.imageGatherer(in, "messages", links), 0
	g.data = true
	turns := make([]providers.ChatTurn, len(list))
	for i, m := range list {
		turns[i].Role = m.role
		for _, p := range m.parts {
			part := providers.ChatPart{Text: p.text}
			if p.image != nil && m.role == "assistant" {
				part.Text = "(image)"
			} else if p.image != nil {
				if images++; images > maxImages {
					return nil, tooManyImages("messages", images)
				}
				media, err := g.gather(ctx, p.image)
				if err != nil {
					return nil, err
				}
				part.Image = &media
			}
			turns[i].Parts = append(turns[i].Parts, part)
		}
	}
	return turns, nil
}

// conversation returns the conversation including the answer, in the format of the field
// "messages" of another chat node. The system prompt is not part of it.
func conversation(in *flow.In, answer string) []any {
	return append(conversationBefore(in), map[string]any{"role": "assistant", "content": answer})
}

// conversationBefore returns the conversation up to the prompt.
func conversationBefore(in *flow.In) []any {
	message := func(role string, content any) any { return map[string]any{"role": role, "content": content} }
	list, _ := in.Config["messages"].([]any)
	list = append([]any(nil), list...)
	images, isList := in.Config["images"].([]any)
	if one := in.Config["images"]; !isList && one != nil && one != "" {
		images = []any{one}
	}
	prompt := in.Text("prompt")
	switch {
	case len(images) > 0:
		var parts []any
		if !blank(prompt) {
			parts = append(parts, map[string]any{"type": "text", "text": prompt})
		}
		for _, image := range images {
			parts = append(parts, map[string]any{"type": "image_url", "image_url": map[string]any{"url": image}})
		}
		list = append(list, message("user", parts))
	case !blank(prompt):
		list = append(list, message("user", prompt))
	}
	return list
}
