package forms

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/sorting"
	"sluice/handlers/web"
	"sluice/static"
	"sluice/views/components"
	formsview "sluice/views/forms"
)

// A form whose flow has an input of type messages is a chat. Its page keeps the conversation
// in the browser and sends all of it with every message, in the field turnsField. Without
// scripts, the page sends one message, as the text of the input, and shows the result.
//
// Models trust the turns of the assistant, so visitors must not be able to forge them. Each
// reply has a signature over the texts of the conversation up to and including it, and turns
// of the assistant are accepted only with a valid signature.

// turnsField is the name of the field with the conversation as JSON.
const turnsField = "turns"

// maxChatPictures is the largest number of pictures in a conversation.
const maxChatPictures = 10

var (
	// errForgedTurn refuses a conversation with a malformed turn, a turn whose role is
	// neither user nor assistant, or a turn of the assistant without a valid signature.
	errForgedTurn = &formRefusal{http.StatusUnprocessableEntity, "This conversation does not match the answers given here. Start a new chat.", 0}
	errNoMessage  = &formRefusal{http.StatusUnprocessableEntity, "Type a message.", 0}
)

// conversation returns the input of the live version that makes the form a chat, or nil.
func (v *formCall) conversation() *contract.Input { return conversation(v.doc, v.s.Kinds) }

// conversation returns the first input of a document that takes messages, or nil.
func conversation(d *flow.Document, kinds *flow.Registry) *contract.Input {
	inputs := contract.Inputs(d, kinds)
	if i := slices.IndexFunc(inputs, func(in contract.Input) bool { return in.Type == flow.TypeMessages }); i >= 0 {
		return &inputs[i]
	}
	return nil
}

// pictureField returns the key of an uploaded picture in Inputs.Files. It is unambiguous, because
// names of inputs contain no dot.
func pictureField(in *contract.Input, index int) string { return in.Name + "." + strconv.Itoa(index) }

// isPicture reports whether a field holds a picture of the conversation.
func isPicture(in *contract.Input, name string) bool {
	if in == nil || !in.Images {
		return false
	}
	text, ok := strings.CutPrefix(name, in.Name+".")
	index, err := strconv.Atoi(text)
	return ok && err == nil && index >= 0 && index < maxChatPictures && text == strconv.Itoa(index)
}

// readConversation returns the conversation that a visitor sent.
func (v *formCall) readConversation(in *contract.Input, t *web.Inputs, fields map[string]string) ([]any, error) {
	if t.TooLarge[pictureField(in, 0)] || slices.ContainsFunc(sorting.Keys(t.TooLarge), func(name string) bool { return isPicture(in, name) }) {
		return nil, &formRefusal{http.StatusRequestEntityTooLarge, "A picture is too large. The limit is " + flow.Size(v.maxFileSize()) + ".", 0}
	}
	sent, ok := fields[turnsField]
	if !ok { // without a script
		text := strings.TrimSpace(strings.ReplaceAll(fields[web.InputPrefix+in.Name], "\r\n", "\n"))
		var pictures []any
		if t.Files[pictureField(in, 0)] != nil {
			pictures = []any{flow.Number(0)}
		}
		if text == "" && pictures == nil {
			return nil, errNoMessage
		}
		message, err := userMessage(in, t, text, pictures)
		return []any{message}, err
	}
	turns, err := flow.DecodeJSON([]byte(sent))
	list, isList := turns.([]any)
	if err != nil || !isList || len(list) == 0 {
		return nil, errNoMessage
	}
	return v.readTurns(in, t, list)
}

// readTurns converts the turns of a conversation to messages and verifies the signatures of
// the assistant.
func (v *formCall) readTurns(in *contract.Input, t *web.Inputs, list []any) (messages []any, err error) {
	digest := ""
	for _, item := range list {
		turn, _ := flow.AsMap(item)
		role, _ := turn["role"].(string)
		text, isText := turn["text"].(string)
		if !isText {
			return nil, errForgedTurn
		}
		digest = turnDigest(digest, role, text)
		message := map[string]any{"role": role, "content": text}
		switch role {
		case flow.RoleUser:
			pictures, _ := turn["pictures"].([]any)
			if message, err = userMessage(in, t, text, pictures); err != nil {
				return nil, err
			}
		case flow.RoleAssistant:
			signature, _ := turn["signature"].(string)
			if !v.s.seals.VerifyTurn(v.flow.ID, digest, signature) {
				return nil, errForgedTurn
			}
		default: // system, for example
			return nil, errForgedTurn
		}
		messages = append(messages, message)
	}
	if last, _ := flow.AsMap(messages[len(messages)-1]); last["role"] != flow.RoleUser {
		return nil, errNoMessage
	}
	return messages, nil
}

// userMessage returns a message of the visitor. pictures are the indexes of its pictures
// among the uploaded ones.
func userMessage(in *contract.Input, t *web.Inputs, text string, pictures []any) (map[string]any, error) {
	if len(pictures) == 0 {
		return map[string]any{"role": flow.RoleUser, "content": text}, nil
	}
	var parts []any
	if text != "" {
		parts = append(parts, map[string]any{"type": "text", "text": text})
	}
	for _, index := range pictures {
		f, _ := flow.Float(index)
		file, ok := t.Files[pictureField(in, int(f))]
		if !ok {
			return nil, &formRefusal{http.StatusUnprocessableEntity, "A picture is missing. Attach it again.", 0}
		}
		parts = append(parts, map[string]any{"type": "image_url", "image_url": file})
	}
	return map[string]any{"role": flow.RoleUser, "content": parts}, nil
}

// turnDigest returns the hash chain of a conversation, extended by one turn.
func turnDigest(before, role, text string) string {
	return flow.Hash([]byte(before + "\n" + role + "\n" + text))
}

// replyEvent is the reply of a run that has ended, for the page of a chat.
type replyEvent struct {
	State     flow.RunState `json:"state"`
	Text      string        `json:"text"`
	HTML      string        `json:"html,omitempty"`      // if the reply is not a text, such as a picture, or has footnotes
	Signature string        `json:"signature,omitempty"` // of the conversation up to this turn
	Problem   string        `json:"trouble,omitempty"`
}

// reply returns the signed reply of the run.
func (t *resultCall) reply(ctx context.Context, in *contract.Input) (replyEvent, error) {
	r := replyEvent{State: t.run.State}
	switch {
	case t.run.State == flow.RunFailed:
		r.Problem = failureText(t.run.Error)
		return r, nil
	case t.run.State != flow.RunSucceeded:
		return r, nil
	case t.run.Erased != "":
		r.Problem = "This answer was not kept. Ask again."
		return r, nil
	}
	value, given := t.replyValue()
	if !given {
		r.Problem = "There is no answer. Try again."
		return r, nil
	}
	text, isText := value.(string)
	if o, ok := document.Reply(t.doc, t.s.Kinds); ok && isText {
		source := document.TextSources(t.doc, contract.Outputs(t.doc, t.s.Kinds))[o.Name]
		if document.SpeakingAgents(t.doc, t.s.Kinds)[source] && t.run.Outputs.Get(o.Name) == value {
			all, err := web.TurnTexts(ctx, t.s.Store, t.run, source)
			if err != nil {
				return r, err
			}
			text = cmp.Or(all, text)
		}
	}
	if !isText {
		var html strings.Builder
		if err := components.Value(components.ValueView{Name: "Answer", Value: value, All: true, Files: t.fileURL}).Render(ctx, &html); err != nil {
			return r, err
		}
		text, r.HTML = describeReply(value), html.String()
	}
	if html := web.Footnotes(text, web.RunCitations(t.run.Outputs)); isText && html != "" {
		r.HTML = `<div class="prose cited">` + html + `</div>`
	}
	r.Text = text
	digest := ""
	messages, _ := t.run.Inputs.Get(in.Name).([]any)
	for _, m := range messages {
		message, _ := flow.AsMap(m)
		digest = turnDigest(digest, flow.Text(message["role"]), flow.MessageText(m))
	}
	r.Signature = t.s.seals.SignTurn(t.flow.ID, turnDigest(digest, flow.RoleAssistant, text))
	return r, nil
}

// replyValue returns the value of the reply output, or of the first output that was not
// skipped.
func (t *resultCall) replyValue() (value any, given bool) {
	if o, ok := document.Reply(t.doc, t.s.Kinds); ok {
		if value, given = t.run.Outputs.Lookup(o.Name); given {
			return value, true
		}
	}
	for _, o := range contract.Outputs(t.doc, t.s.Kinds) {
		if value, given = t.run.Outputs.Lookup(o.Name); given {
			return value, true
		}
	}
	return nil, false
}

// describeReply returns the text that represents a non-text reply in the conversation.
func describeReply(value any) string {
	var names []string
	flow.MapFiles(value, func(_ string, file map[string]any) map[string]any {
		names = append(names, flow.Text(file["name"]))
		return file
	})
	if len(names) > 0 {
		return "(" + strings.Join(names, ", ") + ")"
	}
	return flow.Text(value)
}

// wantsJSON reports whether a script sent the form.
func (v *formCall) wantsJSON() bool { return v.Request().Header.Get("Accept") == "application/json" }

// respondStarted responds to a script with the path of the run.
func (v *formCall) respondStarted(path string) error {
	reply, _ := document.Reply(v.doc, v.s.Kinds)
	v.setPrivateHeaders()
	return v.JSON(http.StatusAccepted, map[string]string{"run": path, "output": reply.Name})
}

// respondRefusal responds to a script with the error. Errors of fields are appended to the text
// with the labels of the fields.
func (v *formCall) respondRefusal(r *formRefusal, text string, fields []formsview.FormField) error {
	errs := map[string]string{}
	for i := range fields {
		if fields[i].Error != "" {
			errs[fields[i].Name] = fields[i].Error
			text = strings.TrimSpace(text + " " + fields[i].Label + ": " + fields[i].Error)
		}
	}
	v.setPrivateHeaders()
	return v.JSON(r.status, map[string]any{"error": text, "fields": errs})
}

// chatPage returns the page of a chat. text is a refused message, or "".
func (v *formCall) chatPage(in *contract.Input, f formsview.FormPage, text string) formsview.ChatPage {
	page := formsview.ChatPage{FormPage: f, Name: web.InputPrefix + in.Name, Text: text, FlowID: string(v.flow.ID), Pictures: in.Images, MostPictures: maxChatPictures, MostFile: v.maxFileSize(), Kept: v.form.Keep}
	if in.Images {
		page.Picture, page.Accept = web.InputPrefix+pictureField(in, 0), strings.Join(in.AcceptedFiles(), ",")
	}
	return page
}

// embed is GET embed.js: the script that embeds the form in another site. It redirects from this
// stable URL to the URL of the asset, which changes with every release.
func (v *formCall) embed() error {
	v.Response().Header().Set("Cache-Control", "public, max-age=300")
	return v.Exchange.Redirect(http.StatusFound, static.URL("embed.js"))
}
