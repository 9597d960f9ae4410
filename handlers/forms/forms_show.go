package forms

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"

	"sluice/flow"
	"sluice/handlers/web"
	"sluice/views/components"
	formsview "sluice/views/forms"
)

// show is GET form: the form, with the inputs of a run that is to be done again.
func (v *visit) show() error {
	again, err := v.again(v.QueryParam("again"))
	if err != nil {
		return err
	}
	var last map[string]any
	if again != nil {
		last = again.Inputs
	}
	return v.showForm(http.StatusOK, v.fields(nil, last), "")
}

// again is the run that a ticket is for, as far as the form still takes its
// inputs; nil if the ticket is for none.
func (v *visit) again(ticket string) (*flow.Run, error) {
	runID, _, ok := v.s.seals.Admits(v.flow.ID, ticket, v.s.Now())
	if !ok {
		return nil, nil
	}
	run, err := v.s.Store.FindRun(v.Ctx(), v.flow.WorkspaceID, v.flow.ID, runID)
	if web.IsNotFound(err) || err == nil && run.Trigger != flow.TriggerForm {
		return nil, nil
	}
	return run, err
}

func (v *visit) showForm(status int, fields []formsview.FormField, trouble string) error {
	f := formsview.FormPage{
		Title: v.title(), Intro: v.form.Intro, Button: v.form.Button, Fields: fields, Error: trouble,
		Again: v.QueryParam("again"), Once: rand.Text(), Password: v.form.PasswordHash != "",
	}
	if f.Intro == "" {
		f.Intro = v.flow.Description
	}
	p := v.public(f.Title)
	p.About = f.Intro
	return v.Render(status, formsview.Form(p, f))
}

// fields are the inputs with what was typed, or else with values of a run before.
func (v *visit) fields(typed *web.Inputs, last map[string]any) []formsview.FormField {
	inputs := v.doc.Inputs(v.s.Kinds)
	list := make([]formsview.FormField, len(inputs))
	for i := range inputs {
		list[i] = v.field(&inputs[i], typed, last)
	}
	return list
}

// shortText is how many characters a text has at most for a field of one line.
const shortText = 160

// mostRadios is how many choices are shown at once; more fold into a list.
const mostRadios = 4

func (v *visit) field(in *flow.Input, typed *web.Inputs, last map[string]any) formsview.FormField {
	f := formsview.FormField{RunField: web.InputField(in, last, typed)}
	f.ID, f.Label, f.Size = "in-"+in.Name, v.label(in.Node, in.Name), "large"
	f.Help = in.Description
	f.Short = in.Type == flow.TypeText && in.Max != nil && *in.Max <= shortText
	f.Radio = len(in.Enum) > 0 && len(in.Enum) <= mostRadios
	if f.Radio && f.Options[0].Value == "" {
		f.Options = f.Options[1:]
	}
	if typed != nil && in.Type == flow.TypeFile && last[in.Name] != nil && typed.Last[in.Name] != "" {
		file := components.FileOf(last[in.Name])
		f.Last = &file
	}
	f.Help = strings.TrimSpace(f.Help + " " + limitWords(in, v.maxFile()))
	f.Most = v.maxFile()
	return f
}

// maxFile is how many bytes a file may have: what the form allows, or the whole
// server.
func (v *visit) maxFile() int64 {
	if most := v.s.MaxFile; most > 0 {
		return min(most, v.form.MaxFile)
	}
	return v.form.MaxFile
}

// label is what the author called an input or output, or else its name as words.
func (v *visit) label(node, name string) string { return labelIn(v.doc, node, name) }

func labelIn(d *flow.Document, node, name string) string {
	if n := d.Node(node); n != nil && n.Label != "" {
		return n.Label
	}
	return formsview.NameWords(name)
}

// errSending keeps one address from holding connections without end: a file may
// take its time.
var errSending = web.NewError(http.StatusTooManyRequests, "Too many forms are being sent from your network at this moment. Wait until some have arrived, then send this one again.")

// send is POST form: a run begins, as far as it may and its inputs are right.
func (v *visit) send() error {
	who := "sending " + web.RateLimitKey(v.IP())
	if !v.s.Streams.Enter(who) {
		return errSending
	}
	defer v.s.Streams.Leave(who)
	limited := v.limited()
	typed, fields, err := v.read(limited != nil)
	if limited != nil {
		err = limited
	}
	var started flow.Started
	if err == nil {
		started, err = v.start(typed, fields)
	}
	if err == nil {
		return v.Redirect(v.runPath(v.s.seals.Ticket(v.flow.ID, started.Run.ID, v.s.Now().Add(ticketLife))))
	}
	v.forget(typed)
	return v.refuse(typed, fields["again"], err)
}

// read reads the form. Files are kept for inputs that take one alone, one each,
// and none for who is refused anyway.
func (v *visit) read(refused bool) (*web.Inputs, map[string]string, error) {
	t := v.NewInputs(v.flow.WorkspaceID, v.maxFile())
	t.Filled = true
	files := map[string]bool{}
	for _, in := range v.doc.Inputs(v.s.Kinds) {
		files[in.Name] = in.Type == flow.TypeFile
	}
	t.Accepts = func(input string) bool {
		return !refused && files[input] && t.Files[input] == nil && !t.TooLarge[input]
	}
	r := v.Request()
	r.Body = http.MaxBytesReader(v.Response(), r.Body, web.MaxInputText+int64(len(files)+1)*v.maxFile())
	fields, err := v.ReadInputFields(t)
	t.Parse(fields)
	return t, fields, err
}

// start starts a run, unless the inputs are wrong or the form has started all
// that it may today.
func (v *visit) start(typed *web.Inputs, fields map[string]string) (started flow.Started, err error) {
	inputs := v.doc.Inputs(v.s.Kinds)
	again, err := v.again(fields["again"])
	if err != nil {
		return started, err
	}
	given := typed.Values(inputs)
	if problems := inputProblems(typed, inputs, given, again); len(problems) > 0 {
		return started, &flow.Error{Code: flow.CodeInputInvalid, Fields: problems}
	}
	day := flow.FormDay(v.s.Now())
	taken, err := v.s.Store.TakeFormRun(v.Ctx(), v.flow.ID, day, v.form.PerDay)
	if err != nil {
		return started, err
	}
	if !taken {
		return started, errFormUsedUp
	}
	s := flow.Start{WorkspaceID: v.flow.WorkspaceID, FlowID: v.flow.ID, Trigger: flow.TriggerForm, Given: given, Coerce: true}
	if once := fields["once"]; once != "" {
		// A form that is sent twice by a double click starts one run. What is
		// hashed keeps visitors out of the keys of others.
		s.IdempotencyKey = "form-" + flow.Hash([]byte(v.flow.ID+"\n"+once+"\n"+string(flow.EncodeJSON(given))))
		s.Fingerprint = s.IdempotencyKey
	}
	started, err = v.s.Runner.StartRun(v.Ctx(), s)
	if err != nil || started.Replayed {
		if back := v.s.Store.ReturnFormRun(context.WithoutCancel(v.Ctx()), v.flow.ID, day); err == nil {
			err = back
		}
	}
	return started, err
}

// forget erases the files of a form that started nothing: they are asked for
// again.
func (v *visit) forget(typed *web.Inputs) {
	ctx := context.WithoutCancel(v.Ctx())
	for name, file := range typed.Files {
		id, _ := flow.FileID(file)
		if err := v.s.Store.EraseFile(ctx, v.flow.WorkspaceID, id); err != nil {
			v.s.Log.Warn("file of a refused form not erased", "file_id", id, "error", err)
		}
		delete(typed.Files, name)
	}
}
