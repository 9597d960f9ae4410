package editor

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/forms"
	"sluice/flow/library"
	"sluice/handlers/passwords"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	formsview "sluice/views/forms"
	"sluice/views/layout"
)

// Limits of the settings of a form. Texts are counted in characters.
const (
	maxFormTitle   = 120
	maxFormIntro   = 2000
	maxFormButton  = 40
	maxPerMinute   = 600
	maxPerDay      = 1_000_000
	maxFormOrigins = 20
)

// formOrigin matches the scheme and host of a site that may embed a form. A
// leading *. matches all subdomains; at least two labels must follow, so that a
// whole top-level domain cannot be allowed.
var formOrigin = regexp.MustCompile(`^https?://(\*\.[a-z0-9-]+\.)?[a-z0-9-]+(\.[a-z0-9-]+)*(:[0-9]{1,5})?$`)

// formSettingsRoutes returns the routes of the settings of a flow's public form. Package forms
// serves the form itself.
func (s *Server) formSettingsRoutes() []route {
	return []route{
		{http.MethodGet, "/flows/:flow/form", web.Viewer, web.OnFlow(showFormSettings)},
		{http.MethodPost, "/flows/:flow/form", web.Editor, web.OnFlow(changeForm)},
	}
}

// findForm returns the form of a flow. A flow without settings has the default
// form, which is off.
func findForm(c *call, f *flow.Flow) (*forms.Form, error) {
	form, err := c.s.Store.FindForm(c.Ctx(), f.ID)
	if flow.IsNotFound(err) {
		return forms.New(c.WorkspaceID(), f.ID), nil
	}
	return form, err
}

// showFormSettings is GET /flows/{id}/form.
func showFormSettings(c *call, f *flow.Flow) error {
	form, err := findForm(c, f)
	if err != nil {
		return err
	}
	return renderFormSettings(c, http.StatusOK, f, form, formSettings(form))
}

// renderFormSettings renders the settings. s has the values to show in the fields;
// form has the stored settings.
func renderFormSettings(c *call, status int, f *flow.Flow, form *forms.Form, s consoleview.FormSettings) error {
	s.FlowID, s.Flow, s.Description, s.LiveVersion = string(f.ID), f.Name, f.Description, f.LiveVersion
	s.URL, s.Shown, s.Published = c.s.FormURL(f.ID), web.FormVisible(form, f), f.LiveVersion > 0
	s.HasPassword, s.Embedded = form.PasswordHash != "", len(form.Origins) > 0
	s.MayEdit, s.Encrypted, s.MostFile = c.MayEdit(), c.s.Encrypted(), c.s.MaxFile
	s.FrameTitle = cmp.Or(form.Title, f.Name)
	previewForm(c, f, &s)
	s.UsedUp = form.UsedUp(c.s.Now())
	return c.Render(status, consoleview.FormSettingsPage(c.Page("Form of "+f.Name, layout.SectionFlows), s))
}

// maxPreviewFields is the number of fields in the preview of a form.
const maxPreviewFields = 5

// previewForm adds what the form shows of the flow: the inputs of the live version or, before the
// first publish, of the draft. With an input for a conversation the form is a chat.
func previewForm(c *call, f *flow.Flow, s *consoleview.FormSettings) {
	data := f.Draft
	if f.LiveVersion > 0 {
		var err error
		if data, err = c.s.Store.FindDocument(c.Ctx(), f.WorkspaceID, f.LiveHash); err != nil {
			return
		}
	}
	doc, _ := document.ParseDocument(data)
	if doc == nil {
		return
	}
	inputs := contract.Inputs(doc, c.s.Kinds)
	for i := range inputs {
		in := &inputs[i]
		s.Chat = s.Chat || in.Type == flow.TypeMessages
		if i >= maxPreviewFields {
			s.More++
			continue
		}
		shown := web.InputField(in, nil, nil)
		field := consoleview.PreviewField{Label: formsview.NameWords(in.Name), Text: cmp.Or(shown.Value, shown.Placeholder), Tall: in.Type == flow.TypeText && in.Max == nil}
		if n := doc.Node(in.Node); n != nil && n.Label != "" {
			field.Label = n.Label
		}
		for _, o := range shown.Options[:min(len(shown.Options), maxPreviewFields)] {
			field.Options = append(field.Options, o.Label)
		}
		if in.Type == flow.TypeFile {
			field.Text = "Choose a file"
		}
		s.Fields = append(s.Fields, field)
	}
}

// formSettings converts a form to the values of its fields.
func formSettings(f *forms.Form) consoleview.FormSettings {
	return consoleview.FormSettings{
		On: f.On, Title: f.Title, Intro: f.Intro, Button: f.Button, Unlisted: f.Unlisted, Keep: f.Keep,
		PerMinute: strconv.FormatInt(f.PerMinute, 10), PerDay: strconv.FormatInt(f.PerDay, 10), MaxFile: strconv.FormatInt(f.MaxFile>>20, 10),
		Origins: strings.Join(f.Origins, "\n"),
	}
}

// changeForm is POST /flows/{id}/form. The password is hashed only if all other
// fields are valid, because hashing is expensive.
func changeForm(c *call, f *flow.Flow) error {
	before, err := findForm(c, f)
	if err != nil {
		return err
	}
	if err := c.ParseForm(); err != nil {
		return err
	}
	typed := readSettingsFields(c)
	form := *before
	typed.Errors = parseSettings(c, &form, typed)
	password := c.FormValue("password")
	switch {
	case password != "":
		if sentence := passwords.Check(password, ""); sentence != "" {
			typed.Errors["password"] = sentence
		}
	case c.FormValue("no_password") != "":
		form.PasswordHash = ""
	}
	if len(typed.Errors) > 0 {
		return renderFormSettings(c, http.StatusUnprocessableEntity, f, before, typed)
	}
	if password != "" {
		if form.PasswordHash, err = c.s.Hasher.Hash(c.Ctx(), password); err != nil {
			return err
		}
	}
	rules := library.Forms{Store: c.s.Store}
	if err := rules.Change(c.Ctx(), c.Actor(), f, before, &form); err != nil {
		return err
	}
	c.Toast(components.ToneOK, savedText(f, before, &form))
	return c.Redirect("/flows/" + url.PathEscape(string(f.ID)) + "/form")
}

// savedText returns the message after saving.
func savedText(f *flow.Flow, before, form *forms.Form) string {
	switch {
	case form.On && !before.On && f.LiveVersion == 0:
		return "Saved. The form appears when the flow is published."
	case form.On && !before.On:
		return "The form is on."
	case !form.On && before.On:
		return "The form is off. Its link and all results no longer work."
	}
	return "Saved."
}

// readSettingsFields returns the submitted values, so that they can be shown
// again.
func readSettingsFields(c *call) consoleview.FormSettings {
	text := func(name string) string {
		return strings.TrimSpace(strings.ReplaceAll(c.FormValue(name), "\r\n", "\n"))
	}
	return consoleview.FormSettings{
		On: text("on") != "", Title: text("title"), Intro: text("intro"), Button: text("button"), Unlisted: text("unlisted") != "", Keep: text("keep") != "",
		PerMinute: text("per_minute"), PerDay: text("per_day"), MaxFile: text("max_file"), Origins: text("origins"), NoPassword: text("no_password") != "",
	}
}

// parseSettings copies valid values to the form and returns the errors of invalid
// ones by field.
func parseSettings(c *call, form *forms.Form, typed consoleview.FormSettings) components.Errors {
	errs := components.Errors{}
	form.On, form.Unlisted, form.Keep = typed.On, typed.Unlisted, typed.Keep
	for _, t := range []struct {
		name, text string
		max        int
		dst        *string
	}{{"title", typed.Title, maxFormTitle, &form.Title}, {"intro", typed.Intro, maxFormIntro, &form.Intro}, {"button", typed.Button, maxFormButton, &form.Button}} {
		if n := utf8.RuneCountInString(t.text); n > t.max {
			errs[t.name] = fmt.Sprintf("Use at most %d characters; this has %d.", t.max, n)
			continue
		}
		if problem := flow.CheckName(t.text, t.max); problem != "" && t.name != "intro" { // the intro may have line breaks
			errs[t.name] = problem
			continue
		}
		*t.dst = t.text
	}
	maxFileMiB := int64(1 << 20) // if the server has no limit
	if c.s.MaxFile > 0 {
		maxFileMiB = max(1, c.s.MaxFile>>20)
	}
	for _, n := range []struct {
		name, text string
		max, unit  int64
		dst        *int64
	}{{"per_minute", typed.PerMinute, maxPerMinute, 1, &form.PerMinute}, {"per_day", typed.PerDay, maxPerDay, 1, &form.PerDay}, {"max_file", typed.MaxFile, maxFileMiB, 1 << 20, &form.MaxFile}} {
		value, ok := flow.ParseCount(n.text)
		if !ok || value < 1 || value > n.max {
			errs[n.name] = fmt.Sprintf("Enter a whole number from 1 to %d.", n.max)
			continue
		}
		*n.dst = value * n.unit
	}
	origins, problem := readOrigins(typed.Origins)
	if problem != "" {
		errs["origins"] = problem
	}
	form.Origins = origins
	return errs
}

// readOrigins parses the origins of sites that may embed a form, one per line.
// problem is empty if all are valid.
func readOrigins(text string) (list []string, problem string) {
	for line := range strings.Lines(text) {
		origin := strings.ToLower(strings.TrimSuffix(strings.TrimSpace(line), "/"))
		if origin == "" || slices.Contains(list, origin) {
			continue
		}
		if !formOrigin.MatchString(origin) {
			return list, fmt.Sprintf("%q is not a valid site. Use the form https://www.example.com, without a path.", strings.TrimSpace(line))
		}
		list = append(list, origin)
	}
	if len(list) > maxFormOrigins {
		return list, fmt.Sprintf("List at most %d sites.", maxFormOrigins)
	}
	return list, ""
}
