package automation

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/schedule"
	"sluice/flow/sorting"
	"sluice/flow/triggers"
	"sluice/flow/wording"
	view "sluice/views/automation"
	"sluice/views/components"
)

// scheduleEditor converts between a schedule and its dialog.
type scheduleEditor struct {
	c         *call
	flow      *flow.Flow
	workspace string // time zone
	inputs    []contract.Input
}

// newScheduleEditor reads what the dialog needs.
func newScheduleEditor(c *call, f *flow.Flow) (*scheduleEditor, error) {
	workspace, err := c.workspaceZone()
	if err != nil {
		return nil, err
	}
	inputs, err := c.inputsOf(f)
	return &scheduleEditor{c, f, workspace, inputs}, err
}

// form returns the dialog with a configuration.
func (e *scheduleEditor) form(t *triggers.Trigger, config *triggers.Config) *view.ScheduleForm {
	f := &view.ScheduleForm{
		FlowID: string(e.flow.ID), MayEdit: e.c.MayEdit(), Fields: schedule.FieldsOf(config.Spec), Timezone: config.Timezone, Zones: e.zones(config.Timezone),
		Overlap: string(config.Overlap), CatchUp: string(config.CatchUp), MaxLate: config.MaxLate,
		From: config.From, Until: config.Until, Except: strings.Join(config.Except, ", "), Errors: components.Errors{},
	}
	if f.Overlap == "" {
		f.Overlap = string(triggers.OverlapSkip)
	}
	if f.CatchUp == "" {
		f.CatchUp = string(triggers.CatchUpOne)
	}
	if config.Jitter != 0 {
		f.Jitter = strconv.FormatInt(config.Jitter, 10)
	}
	if config.PauseAfter != 0 {
		f.PauseAfter = strconv.FormatInt(config.PauseAfter, 10)
	}
	f.Starts, f.Test = view.StartsRun, testForm(config.Test)
	if config.Test != nil {
		f.Starts = view.StartsTest
	}
	f.Inputs = inputFields(e.inputs, config.Inputs, view.ScheduleSources)
	f.More = config.Inputs.Len() > 0 || config.Test == nil && slices.ContainsFunc(e.inputs, func(in contract.Input) bool { return in.Required })
	f.Title = "New schedule"
	if t != nil {
		f.ID, f.Title, f.On = t.ID, title(t.Name), t.On
	}
	return f
}

// zones returns the choice of time zones. One that is not in the list stays possible.
func (e *scheduleEditor) zones(chosen string) []components.Option {
	own := e.workspace
	if own == "" {
		own = "UTC"
	}
	list := []components.Option{{Value: "", Label: "Workspace (" + schedule.City(own) + ")"}}
	names := schedule.Zones()
	if chosen != "" && !slices.Contains(names, chosen) {
		names = append([]string{chosen}, names...)
	}
	for _, name := range names {
		label := schedule.City(name)
		if area, _, ok := strings.Cut(name, "/"); ok {
			label += " (" + area + ")"
		}
		list = append(list, components.Option{Value: name, Label: label})
	}
	sorting.By(list[1:], func(a, b components.Option) int { return strings.Compare(a.Label, b.Label) })
	return list
}

// newSchedule is GET schedule: the dialog of a new one.
func newSchedule(c *call, f *flow.Flow) error {
	e, err := newScheduleEditor(c, f)
	if err != nil {
		return err
	}
	config := &triggers.Config{Spec: schedule.Spec{Cron: "0 9 * * 1-5"}}
	if reader := c.readerZone(); e.workspace == "" && reader != nil {
		config.Timezone = reader.String() // the workspace has none set
	}
	form := e.form(nil, config)
	e.describe(form, nil, config)
	form.Preview.Refusals = nil // the form is still empty
	form.Phrase = form.Was
	if form.Name, err = c.freeName(f, "Schedule"); err != nil {
		return err
	}
	return triggersPage(c, http.StatusOK, f, form)
}

// freeName returns a title whose name no trigger of the flow has.
func (c *call) freeName(f *flow.Flow, base string) (string, error) {
	for n := 1; ; n++ {
		name := base
		if n > 1 {
			name = fmt.Sprintf("%s %d", base, n)
		}
		_, err := c.s.Store.FindTrigger(c.Ctx(), f.WorkspaceID, f.ID, nameOf(name))
		if flow.IsNotFound(err) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
	}
}

// storedSchedule returns the dialog of a schedule.
func storedSchedule(c *call, f *flow.Flow, t *triggers.Trigger) (*view.ScheduleForm, error) {
	e, err := newScheduleEditor(c, f)
	if err != nil {
		return nil, err
	}
	form := e.form(t, &t.Config)
	e.describe(form, t, &t.Config)
	form.Phrase = form.Was
	return form, nil
}

// read reads the dialog. config is what it says, based on the stored one, whose settings without a field stay. byPhrase reports
// whether the phrase was changed, and not the fields.
func (e *scheduleEditor) read(t *triggers.Trigger) (form *view.ScheduleForm, config triggers.Config, byPhrase bool) {
	c := e.c
	if t != nil {
		config = t.Config
	}
	stored := config.Spec
	text := func(name string) string { return strings.TrimSpace(c.FormValue(name)) }
	fields := schedule.Fields{Repeat: schedule.Repeat(c.FormValue("repeat")), Time: text("time"), Count: text("count"), Unit: text("unit"), Day: text("day"), Date: text("date"), Cron: text("cron")}
	for d := range fields.Days {
		fields.Days[d] = slices.Contains(c.Request().PostForm["day_of_week"], strconv.Itoa(d))
	}
	errs := components.Errors{}
	phrase, zone := text("phrase"), text("timezone")
	byPhrase = c.FormValue("edited") == "phrase" || c.FormValue("edited") == "" && phrase != c.FormValue("was")
	var spec schedule.Spec
	if byPhrase {
		var problem string
		if spec, problem = schedule.ParsePhrase(phrase); problem != "" {
			errs["phrase"] = problem
		} else {
			fields = schedule.FieldsOf(spec)
		}
		if spec.Timezone != "" {
			zone = spec.Timezone
		}
	} else {
		var field, problem string
		if spec, field, problem = fields.Spec(); problem != "" {
			errs[field] = problem
		}
	}
	if spec.Every != "" && spec.Every == stored.Every {
		spec.Anchor = stored.Anchor
	}
	spec.Timezone, spec.From, spec.Until = zone, text("from"), text("until")
	for item := range strings.SplitSeq(text("except"), ",") {
		if item = strings.TrimSpace(item); item != "" {
			spec.Except = append(spec.Except, item)
		}
	}
	spec.Jitter = count(text("jitter_s"), "jitter_s", errs)
	config.Spec, config.Overlap, config.CatchUp, config.MaxLate = spec, triggers.Overlap(c.FormValue("overlap")), triggers.CatchUp(c.FormValue("catch_up")), text("max_late")
	config.PauseAfter = count(text("pause_after"), "pause_after", errs)
	var wrong map[string]string
	config.Inputs, wrong = readInputs(c, e.inputs, config.Inputs)
	var test view.TestForm
	if config.Test, test = readTest(c, config.Test, errs); config.Test != nil {
		config.Inputs, wrong = nil, nil
	}
	form = e.form(t, &config)
	form.Test = test
	form.Fields, form.Phrase, form.Name, form.Errors = fields, phrase, text("name"), errs
	form.Jitter, form.PauseAfter, form.Except = text("jitter_s"), text("pause_after"), text("except")
	form.Was = c.FormValue("was")
	for i := range form.Inputs {
		in := &form.Inputs[i]
		in.Source, in.Text, in.Error = c.FormValue("source."+in.Name), c.FormValue("text."+in.Name), wrong[in.Name]
	}
	if len(wrong) > 0 {
		errs["inputs"] = "Correct the inputs."
	}
	form.More = len(wrong) > 0 || errs["jitter_s"] != "" || errs["pause_after"] != ""
	return form, config, byPhrase
}

// count reads a whole number; empty is 0.
func count(text, field string, errs components.Errors) int64 {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		errs[field] = "Enter a whole number."
	}
	return n
}

// createSchedule is POST schedule.
func createSchedule(c *call, f *flow.Flow) error { return saveSchedule(c, f, nil) }

// saveSchedule stores the dialog: as a new schedule if t is nil.
func saveSchedule(c *call, f *flow.Flow, t *triggers.Trigger) error {
	e, err := newScheduleEditor(c, f)
	if err != nil {
		return err
	}
	form, config, byPhrase := e.read(t)
	refuse := func(status int) error {
		e.preview(form, t, &config)
		if !byPhrase && form.Was != "" && len(form.Errors) == 0 {
			form.Phrase = form.Was
		}
		return triggersPage(c, status, f, form)
	}
	if c.FormValue("act") == "preview" {
		return refuse(http.StatusOK)
	}
	for i := range form.Inputs {
		if in := &form.Inputs[i]; in.Required && in.Source == "" && config.Test == nil {
			in.Error, form.Errors["inputs"], form.More = "The flow needs a value.", "Set the inputs.", true
		}
	}
	name := ""
	if t != nil {
		name = t.ID
	} else if name, err = c.newName(f, form.Name, form.Errors); err != nil {
		return err
	}
	if len(form.Errors) > 0 {
		return refuse(http.StatusUnprocessableEntity)
	}
	saved, created, err := c.s.triggers.Set(c.Ctx(), c.Actor(), nil, f, name, config)
	if err != nil {
		if err := assignErrors(err, form.Errors, form.Inputs); err != nil {
			return err
		}
		form.More = true
		return refuse(http.StatusUnprocessableEntity)
	}
	text := "“" + title(saved.Name) + "” was saved."
	if created && f.LiveVersion == 0 {
		text += " It starts when the flow is published."
	}
	c.Toast(components.ToneOK, text)
	return back(c, f)
}

// newName returns the name of a new trigger, or adds what is wrong with it.
func (c *call) newName(f *flow.Flow, title string, errs components.Errors) (string, error) {
	name := nameOf(title)
	if !triggers.ValidName(name) {
		errs["name"] = "Enter a name of letters and digits."
		return "", nil
	}
	_, err := c.s.Store.FindTrigger(c.Ctx(), f.WorkspaceID, f.ID, name)
	if err == nil {
		errs["name"] = "The flow has a trigger with this name. Choose another one."
	} else if !flow.IsNotFound(err) {
		return "", err
	}
	return name, nil
}

// assignErrors puts the problems of a configuration beside its fields. It returns errors that are not about the form.
func assignErrors(err error, errs components.Errors, inputs []view.InputField) error {
	e, ok := errors.AsType[*flow.Error](err)
	if !ok || e.Code == flow.CodeInternal {
		return err
	}
	if len(e.Fields) == 0 {
		errs[""] = e.Message
	}
	for _, p := range e.Fields {
		field, rest, _ := strings.Cut(strings.TrimPrefix(p.Pointer, "/"), "/")
		text := strings.TrimSuffix(field+" "+p.Detail, ".") + "."
		if name := testFields[strings.TrimPrefix(p.Pointer, "/")]; name != "" {
			errs[name] = problemText(p.Detail)
			continue
		}
		if field == "inputs" {
			name, _, _ := strings.Cut(rest, "/")
			for i := range inputs {
				if inputs[i].Name == name {
					inputs[i].Error, text = problemText(p.Detail), ""
				}
			}
		}
		switch {
		case text == "":
		case slices.Contains([]string{"max_late", "from", "until", "except", "jitter_s", "pause_after", "cron"}, field):
			errs[field] = problemText(p.Detail)
		default:
			errs[""] = strings.TrimSpace(errs[""] + " " + text)
		}
	}
	errs["form"] = "invalid" // the dialog is shown again, also if only an input is wrong
	return nil
}

// problemText returns a problem of a field as a sentence.
func problemText(detail string) string {
	if first, _ := utf8.DecodeRuneInString(detail); unicode.IsUpper(first) {
		return wording.Period(detail)
	}
	return wording.Period("This " + detail)
}
