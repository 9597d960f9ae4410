package openai

import (
	"bytes"
	"context"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/media"
	"sluice/handlers/api"
	"sluice/handlers/web"
)

// conversationInput is the name of the list input that gets the earlier messages of a flow
// whose last message goes to a text input.
const conversationInput = "messages"

// target is where the messages of a request go: the input of type messages, or else a text
// input for the last message.
type target struct {
	conversation, text *contract.Input
}

// findTarget returns the inputs that take the messages: an input of type messages, else the
// only required text input, else the only text input.
func findTarget(inputs []contract.Input) (target, error) {
	if in := only(inputs, func(in *contract.Input) bool { return in.Type == flow.TypeMessages }); in != nil {
		return target{conversation: in}, nil
	}
	isText := func(in *contract.Input) bool { return in.Type == flow.TypeText && !in.Secret }
	if in := only(inputs, isText); in != nil {
		return target{text: in}, nil
	}
	for i := range inputs {
		if isText(&inputs[i]) {
			return target{}, invalid("The flow has several text inputs. One of them must be the only required one, so that it takes the message; send the others in metadata.")
		}
	}
	return target{}, invalid("The flow has no input of type messages or text that could take a message.")
}

// only returns the only required input that fits, else the only one that fits, or nil.
func only(inputs []contract.Input, fits func(*contract.Input) bool) *contract.Input {
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

// inputsFor makes the inputs of a run: the messages, and the members of metadata that are
// named like inputs. Metadata holds texts, which become the types of the inputs as on a form.
func inputsFor(inputs []contract.Input, messages []any, metadata any) (map[string]any, error) {
	to, err := findTarget(inputs)
	if err != nil {
		return nil, err
	}
	if len(messages) == 0 {
		return nil, invalid("messages is empty. Send at least one message of the user.")
	}
	list := make([]any, len(messages))
	for i := range messages {
		list[i] = readMessage(messages[i])
	}
	last, _ := list[len(list)-1].(map[string]any)
	if last["role"] != flow.RoleUser {
		return nil, invalid("The last message must be one of the user.")
	}
	given := map[string]any{}
	extra, _ := metadata.(map[string]any)
	for i := range inputs {
		if value, sent := extra[inputs[i].Name]; sent {
			given[inputs[i].Name] = readMetadata(&inputs[i], value)
		}
	}
	if to.conversation != nil {
		given[to.conversation.Name] = list
		return given, nil
	}
	given[to.text.Name] = flow.MessageText(last)
	if in := only(inputs, func(in *contract.Input) bool { return in.Name == conversationInput && in.Type == flow.TypeList }); in != nil {
		given[in.Name] = list[:len(list)-1]
	}
	return given, givePictures(inputs, given, last)
}

// readMessage returns a message as inputs take it, without the members that OpenAI's API has
// in addition. Developer is the newer name of the role system there.
func readMessage(v any) any {
	m, ok := v.(map[string]any)
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
			part, _ := parts[i].(map[string]any)
			if kind, _ := part["type"].(string); kind == "text" || kind == "image_url" {
				list[i] = map[string]any{"type": kind, kind: part[kind]}
			}
		}
		out["content"] = list
	}
	return out
}

// readMetadata returns the value of an input in the metadata. Texts are converted when the
// run starts, as those of a form.
func readMetadata(in *contract.Input, value any) any {
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

// givePictures gives the pictures of the last message to the input of the flow that takes
// files.
func givePictures(inputs []contract.Input, given map[string]any, message map[string]any) error {
	var pictures []any
	pictureSource.MapFiles([]any{message}, func(_ int, picture any) any {
		pictures = append(pictures, picture)
		return picture
	})
	parts, _ := message["content"].([]any)
	for _, item := range parts {
		if part, _ := item.(map[string]any); part["text"] == nil && part["image_url"] == nil {
			return invalid("A message has a part of type %q; text and image_url are supported.", flow.Text(part["type"]))
		}
	}
	if len(pictures) == 0 {
		return nil
	}
	in := only(inputs, func(in *contract.Input) bool { return in.TakesFiles() && given[in.Name] == nil })
	switch {
	case in == nil:
		return invalid("The message has a picture, but the flow has no input of type messages, and none that takes its file.")
	case in.Type == flow.TypeList:
		given[in.Name] = pictures
	case len(pictures) > 1:
		return invalid("The message has %d pictures; the flow takes one, as %s.", len(pictures), in.Name)
	default:
		given[in.Name] = pictures[0]
	}
	return nil
}

// pictureSource finds the pictures in a message.
var pictureSource = contract.Input{Type: flow.TypeMessages, Images: true}

// storePictures stores the pictures that were sent as data URLs as files, so that the record
// of the run has references to them. It returns the IDs of the new files. Data that cannot be
// read is left for the check of the inputs.
func (s *Server) storePictures(c *api.Call, inputs []contract.Input, given map[string]any) (ids []string, err error) {
	for i := range inputs {
		in := &inputs[i]
		if given[in.Name] == nil {
			continue
		}
		given[in.Name] = in.MapFiles(given[in.Name], func(_ int, v any) any {
			remote, ok := flow.RemoteFileOf(v)
			if !ok || !remote.IsData() || err != nil {
				return v
			}
			content, mediaType, faulty := remote.Data()
			if faulty != nil {
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
		})
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
