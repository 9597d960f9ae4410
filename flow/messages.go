package flow

import (
	"strings"

	"sluice/flow/value"
)

// TypeMessages is a conversation: a list of messages in the format of OpenAI's API,
// {"role": "user", "content": "…"}. The content is a text or a list of parts, which are
// texts, {"type": "text", "text": "…"}, or images, {"type": "image_url", "image_url": …}
// with a file value or {"url": "…"}. Only inputs have this type; ports treat it as a list.
const TypeMessages Type = "messages"

// MaxMessages bounds the messages of a conversation.
const MaxMessages = 1000

// The roles of messages.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleSystem    = "system"
)

// MaxContext is the size in bytes of the conversations that a run continues.
const MaxContext = 8 << 20

// MessageRoles are the roles that an input of type messages accepts unless it lists its own.
var MessageRoles = []string{RoleUser, RoleAssistant, RoleSystem}

// UserMessage returns a conversation of one message.
func UserMessage(content any) []any {
	return []any{map[string]any{"role": RoleUser, "content": content}}
}

// MessageText returns the text of a message: its content, or its text parts, one per line.
func MessageText(message any) string {
	content := value.Get(message, "content")
	parts, isList := content.([]any)
	if !isList {
		return Text(content)
	}
	var texts []string
	for _, item := range parts {
		if text, ok := value.Get(item, "text").(string); ok {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}
