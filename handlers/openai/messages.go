package openai

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/media"
	"sluice/handlers/api"
	"sluice/handlers/web"
)

// conversationInput is the name of the list input that receives the earlier messages if a flow
// takes the last one as text.
const conversationInput = "messages"

// target is the input for the messages of a request: conversation, which has the type messages,
// or text, which takes only the last message. The other one is nil.
type target struct {
	conversation, text *contract.Input
}

// findTarget returns the input that takes the messages: the one of type messages, otherwise the
// text input. soleInput decides among several.
func findTarget(inputs []contract.Input) (target, error) {
	if in := soleInput(inputs, func(in *contract.Input) bool { return in.Type == flow.TypeMessages }); in != nil {
		return target{conversation: in}, nil
	}
	isText := func(in *contract.Input) bool { return in.Type == flow.TypeText && !in.Secret }
	if in := soleInput(inputs, isText); in != nil {
		return target{text: in}, nil
	}
	for i := range inputs {
		if isText(&inputs[i]) {
			return target{}, invalid("The flow has several text inputs. One of them must be the only required one, so that it receives the message; send the others in metadata.")
		}
	}
	return target{}, invalid("The flow has no input of type messages or text that could receive a message.")
}

// soleInput returns the only required input that fits or, if none is required, the only one that
// fits. It returns nil if there is no such input or more than one.
func soleInput(inputs []contract.Input, fits func(*contract.Input) bool) *contract.Input {
	var required, all []*contract.Input
	for i := range inputs {
		if in := &inputs[i]; fits(in) {
			if all = append(all, in); in.Required {
				required = append(required, in)
			}
		}
	}
	switch {
	case len(required) == 1:
		return required[0]
	case len(required) == 0 && len(all) == 1:
		return all[0]
	}
	return nil
}

// buildInputs returns the inputs of a run: the messages, and the members of metadata that have the
// name of an input. OpenAI's metadata contains only texts, which are converted to the types of the
// inputs as on a form.
func buildInputs(inputs []contract.Input, messages []any, metadata any) (*flow.Object, error) {
	to, err := findTarget(inputs)
	if err != nil {
		return nil, err
	}
	if len(messages) == 0 {
		return nil, invalid("messages is empty. Send at least one message with the role user.")
	}
	list := make([]any, len(messages))
	for i := range messages {
		list[i] = convertMessage(messages[i])
	}
	last, _ := flow.AsMap(list[len(list)-1])
	if last["role"] != flow.RoleUser {
		return nil, invalid("The last message must have the role user.")
	}
	given := &flow.Object{}
	extra, _ := flow.AsObject(metadata)
	for name, value := range extra.All() {
		if i := slices.IndexFunc(inputs, func(in contract.Input) bool { return in.Name == name }); i >= 0 {
			given.Set(name, metadataValue(&inputs[i], value))
		}
	}
	if to.conversation != nil {
		given.Set(to.conversation.Name, list)
		return given, nil
	}
	given.Set(to.text.Name, flow.MessageText(last))
	if in := soleInput(inputs, func(in *contract.Input) bool { return in.Name == conversationInput && in.Type == flow.TypeList }); in != nil {
		given.Set(in.Name, list[:len(list)-1])
	}
	return given, assignPictures(inputs, given, last)
}

// convertMessage returns a message in the form of the type messages, without other members of
// OpenAI's format. OpenAI has renamed the role system to developer.
func convertMessage(v any) any {
	m, ok := flow.AsMap(v)
	if !ok {
		return v
	}
	out := map[string]any{"role": m["role"], "content": m["content"]}
	if m["role"] == "developer" {
		out["role"] = flow.RoleSystem
	}
	if parts, isList := m["content"].([]any); isList {
		list := make([]any, len(parts))
		for i := range parts {
			list[i] = parts[i]
			part, _ := flow.AsMap(parts[i])
			if kind, _ := part["type"].(string); kind == "text" || kind == "image_url" {
				list[i] = map[string]any{"type": kind, kind: part[kind]}
			}
		}
		out["content"] = list
	}
	return out
}

// metadataValue returns a member of metadata as the value of an input. Other conversions from text
// happen when the run starts, as for a form.
func metadataValue(in *contract.Input, value any) any {
	if in.Type == flow.TypeText {
		if text, err := flow.Coerce(value, flow.TypeText); err == nil {
			return text
		}
	}
	if text, ok := value.(string); ok && in.Type == flow.TypeList {
		return web.ParseList(text)
	}
	return value
}

// assignPictures sets the input of the flow that takes files to the pictures of the last message.
func assignPictures(inputs []contract.Input, given *flow.Object, message map[string]any) error {
	var pictures []any
	pictureSource.MapFiles([]any{message}, func(_ int, picture any) any {
		pictures = append(pictures, picture)
		return picture
	})
	parts, _ := message["content"].([]any)
	for _, item := range parts {
		if part, _ := flow.AsMap(item); part["text"] == nil && part["image_url"] == nil {
			return invalid("A message has a part of type %q; text and image_url are supported.", flow.Text(part["type"]))
		}
	}
	if len(pictures) == 0 {
		return nil
	}
	in := soleInput(inputs, func(in *contract.Input) bool { return in.TakesFiles() && given.Get(in.Name) == nil })
	switch {
	case in == nil:
		return invalid("The message has a picture, but the flow has no input of type messages, and no single input that takes its file.")
	case in.Type == flow.TypeList:
		given.Set(in.Name, pictures)
	case len(pictures) > 1:
		return invalid("The message has %d pictures; the flow takes one, as %s.", len(pictures), in.Name)
	default:
		given.Set(in.Name, pictures[0])
	}
	return nil
}

// pictureSource finds the pictures in a message.
var pictureSource = contract.Input{Type: flow.TypeMessages, Images: true}

// storePictures stores pictures that were sent as data URLs, so that the stored run only refers to
// them. It returns the IDs of the new files. Malformed data URLs are kept; the validation of the
// inputs reports them.
func (s *Server) storePictures(c *api.Call, inputs []contract.Input, given *flow.Object) (ids []string, err error) {
	for i := range inputs {
		in := &inputs[i]
		if given.Get(in.Name) == nil {
			continue
		}
		given.Set(in.Name, in.MapFiles(given.Get(in.Name), func(_ int, v any) any {
			remote, ok := flow.RemoteFileOf(v)
			if !ok || !remote.IsData() || err != nil {
				return v
			}
			content, mediaType, malformed := remote.Data()
			if malformed != nil {
				return v
			}
			var f *flow.File
			if f, err = s.api.Files.SaveFile(c.Request().Context(), flow.NewFile{
				WorkspaceID: c.Key.WorkspaceID, KeyID: c.Key.ID, MaxSize: s.api.MaxFile, MIME: mediaType,
				Name: media.FileName(remote.Name, media.Type(mediaType, content)),
			}, bytes.NewReader(content)); err != nil {
				return v
			}
			ids = append(ids, f.ID)
			return f.Value()
		}))
	}
	return ids, err
}

// eraseFiles erases the files of a run that did not start.
func (s *Server) eraseFiles(c *api.Call, ids []string) {
	for _, id := range ids {
		if err := s.api.Files.EraseFile(context.WithoutCancel(c.Request().Context()), c.Key.WorkspaceID, id); err != nil {
			s.api.Log.Warn("file of a refused chat not erased", "file_id", id, "error", strings.TrimSpace(err.Error()))
		}
	}
}
