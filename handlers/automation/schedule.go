package automation

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/schedule"
	"sluice/flow/sorting"
	"sluice/flow/triggers"
	"sluice/flow/wording"
	view "sluice/views/automation"
	"sluice/views/components"
)

// nextTimes is how many planned times a preview has.
const nextTimes = 5

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

// inputsOf returns the inputs of the live version, or of the draft before the first publish.
func (c *call) inputsOf(f *flow.Flow) ([]contract.Input, error) {
	data := f.Draft
	if f.LiveVersion > 0 {
		var err error
		if data, err = c.s.Store.FindDocument(c.Ctx(), f.WorkspaceID, f.LiveHash); err != nil {
			return nil, err
		}
	}
	doc, _ := document.ParseDocument(data)
	if doc == nil {
		return nil, nil
	}
	return contract.Inputs(doc, c.s.Kinds), nil
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

// describe fills in the phrase of a configuration and its next times.
func (e *scheduleEditor) describe(f *view.ScheduleForm, config *triggers.Config) {
	plan, err := config.Schedule(e.workspace)
	if err != nil {
		f.Preview.Problem = flow.AsError(err).Message
		return
	}
	f.Was = plan.Phrase()
	f.Preview = preview(plan, e.c.s.Now(), e.c.readerZone())
}

// preview returns the next times of a schedule, in its zone and in the reader's.
func preview(plan *schedule.Schedule, now time.Time, reader *time.Location) view.SchedulePreview {
	p := view.SchedulePreview{Zone: schedule.City(plan.Timezone())}
	zone := plan.Location()
	if reader != nil && reader.String() != zone.String() {
		p.Yours = schedule.City(reader.String())
	} else {
		reader = zone
	}
	var before time.Time
	for _, at := range plan.NextN(now, nextTimes) {
		if note := clockNote(before, at, zone, reader); note != "" {
			p.Times = append(p.Times, view.PlannedRow{Note: note})
		}
		there, here := at.In(zone), at.In(reader)
		row := view.PlannedRow{Day: there.Format("Mon, Jan 2"), Time: there.Format("3:04 PM"), Yours: here.Format("3:04 PM")}
		if there.Year() != now.In(zone).Year() {
			row.Day = there.Format("Mon, Jan 2, 2006")
		}
		if here.YearDay() != there.YearDay() {
			row.Yours = here.Format("Mon 3:04 PM")
		}
		p.Times = append(p.Times, row)
		before = at
	}
	p.Over = len(p.Times) == 0
	return p
}

// clockNote tells about clock changes between two planned times, in the zone of a schedule and in the reader's.
func clockNote(before, at time.Time, zone, reader *time.Location) string {
	if before.IsZero() {
		return ""
	}
	var notes []string
	zones := []*time.Location{zone}
	if reader != zone {
		zones = append(zones, reader)
	}
	for _, z := range zones {
		for _, change := range schedule.Changes(z, before, at) {
			by, way := time.Duration(change.After-change.Before)*time.Second, "forward"
			if by < 0 {
				by, way = -by, "back"
			}
			notes = append(notes, fmt.Sprintf("Clocks in %s go %s %s on %s.", schedule.City(z.String()), way, components.WholeDuration(by), change.At.In(z).Format("Jan 2")))
		}
	}
	if len(notes) == 0 {
		return ""
	}
	then, now, mine := before.In(zone).Format("3:04 PM"), at.In(zone).Format("3:04 PM"), at.In(reader).Format("3:04 PM")
	if reader != zone && then == now && before.In(reader).Format("3:04 PM") != mine {
		notes = append(notes, fmt.Sprintf("It stays %s there and becomes %s for you.", now, mine))
	}
	return strings.Join(notes, " ")
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
	e.describe(form, config)
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
	e.describe(form, &t.Config)
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

// previewSchedule is POST preview: what the dialog would do. It renders the parts that the script replaces: the next times, and
// the fields or the phrase, whichever the person has not just changed.
func previewSchedule(c *call, f *flow.Flow) error {
	e, err := newScheduleEditor(c, f)
	if err != nil {
		return err
	}
	form, config, byPhrase := e.read(nil)
	e.preview(form, &config)
	if byPhrase {
		return c.Render(http.StatusOK, view.ScheduleParts(view.ScheduleFields(*form), view.ScheduleNext(*form)))
	}
	if form.Was != "" && len(form.Errors) == 0 {
		form.Phrase = form.Was
	}
	return c.Render(http.StatusOK, view.ScheduleParts(view.SchedulePhrase(*form), view.ScheduleNext(*form)))
}

// preview fills in the next times, or what is wrong.
func (e *scheduleEditor) preview(form *view.ScheduleForm, config *triggers.Config) {
	for _, name := range []string{"phrase", "days", "time", "count", "day", "date", "cron"} {
		if form.Errors[name] != "" {
			form.Preview.Problem = form.Errors[name]
			return
		}
	}
	e.describe(form, config)
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
		e.preview(form, &config)
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

// inputFields returns the fields that say what the inputs of a flow are made of.
func inputFields(inputs []contract.Input, values *flow.Object, sources []components.Option) (list []view.InputField) {
	for i := range inputs {
		in := &inputs[i]
		f := view.InputField{Name: in.Name, Type: string(in.Type), Required: in.Required, Sources: sources}
		if v, ok := values.Lookup(in.Name); ok {
			f.Source, f.Text = sourceOf(v, in, sources)
		}
		list = append(list, f)
	}
	return list
}

// sourceOf returns the choice and the text that stand for a value or an expression.
func sourceOf(v any, in *contract.Input, sources []components.Option) (source, text string) {
	if o, ok := v.(*flow.Object); ok && o.Len() == 1 {
		if expression, ok := o.Get("cel").(string); ok {
			if slices.ContainsFunc(sources, func(s components.Option) bool { return s.Value == expression }) {
				return expression, ""
			}
			return "cel", expression
		}
	}
	if s, ok := v.(string); ok && isText(in) {
		return "value", s
	}
	return "value", string(flow.EncodeJSON(v))
}

// isText reports whether values of an input are written without quotes.
func isText(in *contract.Input) bool { return in.Type == flow.TypeText }

// readInputs reads these fields. Values of inputs that the flow does not have stay.
func readInputs(c *call, inputs []contract.Input, stored *flow.Object) (values *flow.Object, wrong map[string]string) {
	values, wrong = &flow.Object{}, map[string]string{}
	for name, v := range stored.All() {
		if !slices.ContainsFunc(inputs, func(in contract.Input) bool { return in.Name == name }) {
			values.Set(name, v)
		}
	}
	for i := range inputs {
		in := &inputs[i]
		source, text := c.FormValue("source."+in.Name), strings.TrimSpace(c.FormValue("text."+in.Name))
		switch source {
		case "":
			continue
		case "value":
			if isText(in) {
				values.Set(in.Name, c.FormValue("text."+in.Name))
				continue
			}
			v, err := flow.DecodeJSON([]byte(text))
			if err != nil {
				wrong[in.Name] = "Enter a value such as 3, true or [\"a\", \"b\"]."
				continue
			}
			values.Set(in.Name, v)
			continue
		case "cel":
			if source = text; text == "" {
				wrong[in.Name] = "Enter an expression."
				continue
			}
		}
		o := &flow.Object{}
		o.Set("cel", source)
		values.Set(in.Name, o)
	}
	if values.Len() == 0 {
		values = nil
	}
	return values, wrong
}
