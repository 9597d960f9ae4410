package nodes

import (
	"strings"

	"sluice/flow"
	"sluice/providers"
)

// maxMessages bounds the earlier messages of a conversation.
const maxMessages = 1000

// readHistory reads the earlier messages of a conversation in the form of OpenAI's API:
// objects with role and content, which is a text or a list of parts. System messages are
// added to the system prompt, because not every provider takes them among the others.
// Of pictures in earlier messages only their place is kept.
func readHistory(r *providers.ChatRequest, value any) error {
	list, _ := value.([]any)
	if len(list) > maxMessages {
		return flow.Errorf(flow.CodeInputInvalid, "%q has %d messages; the limit is %d.", "messages", len(list), maxMessages)
	}
	for i, item := range list {
		m, _ := item.(map[string]any)
		role, _ := m["role"].(string)
		text, ok := messageText(m["content"])
		switch {
		case !ok:
			return flow.Errorf(flow.CodeInputInvalid, "Message %d of %q has no content: wanted {\"role\": \"user\", \"content\": \"…\"}.", i+1, "messages")
		case role == "system", role == "developer":
			r.System = strings.TrimSpace(r.System + "\n\n" + text)
		case role == "user", role == "assistant":
			r.History = append(r.History, providers.ChatTurn{Role: role, Text: text})
		default:
			return flow.Errorf(flow.CodeInputInvalid, "Message %d of %q has the role %q; wanted user, assistant or system.", i+1, "messages", role)
		}
	}
	return nil
}

// messageText returns the text of a message's content.
func messageText(content any) (string, bool) {
	switch content := content.(type) {
	case string:
		return content, true
	case []any:
		var texts []string
		for _, item := range content {
			part, _ := item.(map[string]any)
			if text, isText := part["text"].(string); isText {
				texts = append(texts, text)
			} else {
				texts = append(texts, "(picture)")
			}
		}
		return strings.Join(texts, "\n"), len(texts) > 0
	}
	return "", false
}
