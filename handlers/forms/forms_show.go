package forms

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/forms"
	"sluice/flow/value"
	"sluice/handlers/web"
	"sluice/views/components"
	formsview "sluice/views/forms"
)

// show is GET form. With ?again=, it is filled with the inputs of that earlier
// run.
func (v *formCall) show() error {
	previousRun, err := v.previousRun(v.QueryParam("again"))
	if err != nil {
		return err
	}
	var last *flow.Object
	if previousRun != nil {
		last = previousRun.Inputs
	}
	if ticket := v.QueryParam("continue"); ticket != "" {
		earlier, err := v.continued(ticket)
		if err != nil {
			return err
		}
		if earlier == nil {
			return v.Redirect(v.path())
		}
	}
	return v.showForm(http.StatusOK, v.fields(nil, last), "")
}

// previousRun returns the run that a ticket names, or nil if the ticket is not
// valid for this form.
func (v *formCall) previousRun(ticket string) (*flow.Run, error) {
	runID, _, ok := v.s.seals.VerifyTicket(v.flow.ID, ticket, v.s.Now())
	if !ok {
		return nil, nil
	}
	run, err := v.s.Store.FindRun(v.Ctx(), v.flow.WorkspaceID, v.flow.ID, runID)
	if flow.IsNotFound(err) || err == nil && run.Trigger != flow.TriggerForm {
		return nil, nil
	}
	return run, err
}

// showForm renders the form with its fields and an error message, which may be empty.
// Once is a random value that deduplicates submissions of the same page.
func (v *formCall) showForm(status int, fields []formsview.FormField, problem string) error {
	f := formsview.FormPage{
		Title: v.title(), Intro: v.form.Intro, Button: v.form.Button, Fields: fields, Error: problem,
		Again: v.QueryParam("again"), Continue: v.QueryParam("continue"), Once: rand.Text(), Password: v.form.PasswordHash != "",
	}
	if f.Intro == "" {
		f.Intro = v.flow.Description
	}
	p := v.publicPage(f.Title)
	p.About = f.Intro
	if in := v.conversation(); in != nil {
		text := ""
		f.Fields = slices.DeleteFunc(f.Fields, func(field formsview.FormField) bool {
			if field.Name == web.InputPrefix+in.Name {
				text, f.Error = field.Value, cmp.Or(f.Error, field.Error)
				return true
			}
			return false
		})
		return v.Render(status, formsview.Chat(p, v.chatPage(in, f, text)))
	}
	return v.Render(status, formsview.Form(p, f))
}

// fields returns the fields of all inputs, filled with what was typed, or else
// with the values of an earlier run.
func (v *formCall) fields(typed *web.Inputs, last *flow.Object) []formsview.FormField {
	inputs := contract.Inputs(v.doc, v.s.Kinds)
	list := make([]formsview.FormField, len(inputs))
	for i := range inputs {
		if inputs[i].Type == flow.TypeMessages {
			last = nil // a chat begins with an empty message
		}
		list[i] = v.field(&inputs[i], typed, last)
	}
	return list
}

// maxShortText is the longest text, in characters, that gets a field of one
// line.
const maxShortText = 160

// maxShortExample is the longest example or default, in characters, from which a one-line field is
// inferred for a text without a maximum.
const maxShortExample = 48

// isOneLine reports whether a value suggests a field of one line.
func isOneLine(value string) bool {
	return value != "" && utf8.RuneCountInString(value) <= maxShortExample && !strings.Contains(value, "\n")
}

// maxRadios is the largest number of choices shown as radio buttons. More
// become a drop-down list.
const maxRadios = 4

// field returns the field of one input.
func (v *formCall) field(in *contract.Input, typed *web.Inputs, last *flow.Object) formsview.FormField {
	f := formsview.FormField{RunField: web.InputField(in, last, typed)}
	f.ID, f.Label, f.Size = "in-"+in.Name, v.label(in.Node, in.Name), "large"
	f.Help = in.Description
	f.Short = in.Type == flow.TypeText && (in.Max != nil && *in.Max <= maxShortText || in.Max == nil && isOneLine(cmp.Or(f.Example, f.Value))) && !strings.Contains(f.Value, "\n")
	f.Radio = len(in.Enum) > 0 && len(in.Enum) <= maxRadios
	if f.Radio && f.Options[0].Value == "" {
		f.Options = f.Options[1:]
	}
	if typed != nil && in.Type == flow.TypeFile && last.Get(in.Name) != nil && typed.Last[in.Name] != "" {
		file := components.FileOf(last.Get(in.Name))
		f.Last = &file
	}
	f.Help = strings.TrimSpace(f.Help + " " + limitText(in, v.maxFileSize()))
	f.Most = v.maxFileSize()
	return f
}

// maxFileSize returns the largest allowed file in bytes: the limit of the form
// or that of the server, whichever is lower.
func (v *formCall) maxFileSize() int64 {
	if most := v.s.MaxFile; most > 0 {
		return min(most, v.form.MaxFile)
	}
	return v.form.MaxFile
}

// label returns the label of an input or output node, or else its name as
// words.
func (v *formCall) label(node, name string) string { return nodeLabel(v.doc, node, name) }

// nodeLabel is label for any document.
func nodeLabel(d *flow.Document, node, name string) string {
	if n := d.Node(node); n != nil && n.Label != "" {
		return n.Label
	}
	return formsview.NameWords(name)
}

// errSending is returned to an address with too many open uploads. The number is
// limited, because an upload may take as long as data keeps arriving.
var errSending = web.NewError(http.StatusTooManyRequests, "Too many forms are being sent from your network right now. Wait a moment, then send this one again.")

// submit is POST form: it starts a run if the visitor is within the limits and
// the inputs are valid. The form is read even if it is refused, so that the
// page can show again what was typed.
func (v *formCall) submit() error {
	key := "sending " + web.RateLimitKey(v.IP())
	if !v.s.Streams.Enter(key) {
		return errSending
	}
	defer v.s.Streams.Leave(key)
	limitErr := v.checkLimits()
	typed, fields, err := v.readForm(limitErr != nil)
	if limitErr != nil {
		err = limitErr
	}
	var started flow.Started
	if err == nil {
		started, err = v.startRun(typed, fields)
	}
	if err == nil {
		path := v.runPath(v.s.seals.Ticket(v.flow.ID, started.Run.ID, v.s.Now().Add(ticketLife)))
		if v.wantsJSON() {
			return v.respondStarted(path)
		}
		return v.Redirect(path)
	}
	v.eraseFiles(typed)
	return v.renderRefusal(typed, fields["again"], err)
}

// readForm reads the form. It stores at most one file per file input, and none if the
// form is refused anyway.
func (v *formCall) readForm(refused bool) (*web.Inputs, map[string]string, error) {
	t := v.NewInputs(v.flow.WorkspaceID, v.maxFileSize())
	t.Filled = true
	files := map[string]bool{}
	for _, in := range contract.Inputs(v.doc, v.s.Kinds) {
		files[in.Name] = in.Type == flow.TypeFile
	}
	chat, most := v.conversation(), len(files)
	if chat != nil && chat.Images {
		most += maxChatPictures
	}
	t.Refused = refused
	t.Accepts = func(input string) bool { return files[input] || isPicture(chat, input) }
	r := v.Request()
	r.Body = http.MaxBytesReader(v.Response(), r.Body, web.MaxInputText+int64(most+1)*v.maxFileSize())
	fields, err := v.ReadInputFields(t)
	t.Parse(fields)
	return t, fields, err
}

// startRun starts a run if the inputs are valid and the daily limit is not reached. The
// daily count is incremented before the run starts, so that concurrent requests cannot
// exceed the limit, and decremented again if the run does not start.
func (v *formCall) startRun(typed *web.Inputs, fields map[string]string) (started flow.Started, err error) {
	inputs := contract.Inputs(v.doc, v.s.Kinds)
	previousRun, err := v.previousRun(fields["again"])
	if err != nil {
		return started, err
	}
	earlier, err := v.continued(fields["continue"])
	if err != nil {
		return started, err
	}
	given := typed.Values(inputs)
	chat := v.conversation()
	if typed.HasUnknown(func(input string) bool {
		return isPicture(chat, input) || slices.ContainsFunc(inputs, func(in contract.Input) bool { return in.Name == input })
	}) {
		return started, errFormChanged
	}
	if chat != nil {
		messages, err := v.readConversation(chat, typed, fields)
		if err != nil {
			return started, err
		}
		given.Set(chat.Name, messages)
	}
	if problems := inputProblems(typed, inputs, given, previousRun); len(problems) > 0 {
		return started, &flow.Error{Code: flow.CodeInputInvalid, Fields: problems}
	}
	day := forms.Day(v.s.Now())
	taken, err := v.s.Store.TakeFormRun(v.Ctx(), v.flow.ID, day, v.form.PerDay)
	if err != nil {
		return started, err
	}
	if !taken {
		return started, errFormUsedUp
	}
	s := flow.Start{WorkspaceID: v.flow.WorkspaceID, FlowID: v.flow.ID, Trigger: flow.TriggerForm, Given: given, Coerce: true}
	s.Options.Discard = chat != nil && !v.form.Keep // the conversation stays in the browser
	if once := fields["once"]; once != "" {
		// A double click starts only one run. The hash keeps visitors from choosing the
		// idempotency keys of others.
		s.IdempotencyKey = "form-" + flow.Hash([]byte(string(v.flow.ID)+"\n"+once+"\n"+string(value.Canonical(given))))
		s.Fingerprint = s.IdempotencyKey
	}
	started, err = v.startContinued(s, earlier)
	if err != nil || started.Replayed {
		if back := v.s.Store.ReturnFormRun(context.WithoutCancel(v.Ctx()), v.flow.ID, day); err == nil {
			err = back
		}
	}
	return started, err
}

// eraseFiles deletes the uploaded files of a form that did not start a run. The
// visitor has to choose them again.
func (v *formCall) eraseFiles(typed *web.Inputs) {
	ctx := context.WithoutCancel(v.Ctx())
	for name, file := range typed.Files {
		id, _ := flow.FileID(file)
		if err := v.s.Store.EraseFile(ctx, v.flow.WorkspaceID, id); err != nil {
			v.s.Log.Warn("file of a refused form not erased", "file_id", id, "error", err)
		}
		delete(typed.Files, name)
	}
}
