package editor

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/a-h/templ"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/sorting"
	"sluice/flow/wording"
	"sluice/views/components"
)

// inSight reports whether a field under "More" is shown anyway, because it has a value.
func (f *NodeField) inSight() bool {
	return f.Error != "" || len(f.Problems) > 0 || len(f.Feeds) > 0 || len(f.Secrets) > 0
}

// rank returns the order of a field in the inspector, highest first: the prompt comes before the
// model.
func (f *NodeField) rank() int {
	if f.isPrompt() {
		return 1
	}
	return 0
}

// isPrompt reports whether the field is the text that the node is about.
func (f *NodeField) isPrompt() bool {
	return f.Template && f.Type == flow.FieldArea && (f.Required || f.Name == "prompt")
}

// summary returns the label of a field with its value, in a few words.
func (f *NodeField) summary() string {
	text := f.optionLabel(f.text(0))
	switch {
	case f.Form.As == flow.FieldBoolean && text == "true", f.Form.As == flow.FieldJSON, f.Form.As == flow.FieldArea, f.grouped(), text == "":
		return f.title()
	case f.Form.As == flow.FieldBoolean:
		return f.title() + " off"
	}
	return f.title() + " " + clip(text, 16)
}

// id returns the HTML ID of the control, for its label.
func (f *NodeField) id() string { return "set-" + f.Name }

// title returns the label of the field.
func (f *NodeField) title() string { return cmp.Or(f.Title, f.Name) }

// text returns the text in row i.
func (f *NodeField) text(i int) string { return at(f.Form.Texts, i) }

// kept and name return a part of row i, or "" beyond the end: the lists can have different
// lengths after an error in the form.
func (f *NodeField) kept(i int) string { return at(f.Form.Kept, i) }
func (f *NodeField) name(i int) string { return at(f.Form.Names, i) }

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// usual returns the default value as text.
func (f *NodeField) usual() string {
	if f.Default != nil {
		return flow.Text(f.Default)
	}
	return flow.Text(f.Suggest)
}

// placeholder shows the default value in an empty control.
func (f *NodeField) placeholder() string {
	if len(f.Feeds) > 0 && f.Form.As != flow.FieldModel {
		return "Default if not connected"
	}
	if f.slides() && f.usual() == "" {
		return "Not set"
	}
	if f.Limit && f.usual() == "" {
		return "No limit"
	}
	if usual := f.usual(); usual != "" || f.Type != flow.FieldModel {
		return wording.Fit(usual, 120)
	}
	if f.Task == "hosted" {
		return "owner/name"
	}
	return "provider/model"
}

// noChoices says why there is nothing to choose.
func (f *NodeField) noChoices() string {
	if f.Name == flow.LoopField {
		return "The flow has no inputs."
	}
	return "This flow has no outputs yet."
}

// optionLabel returns what an option is called.
func (f *NodeField) optionLabel(option string) string {
	if i := slices.Index(f.Options, option); i >= 0 && i < len(f.Labels) {
		return f.Labels[i]
	}
	return option
}

// none returns the label of the option that leaves the field unset.
func (f *NodeField) none() string {
	switch usual := f.usual(); {
	case usual != "" && f.Limit:
		return f.optionLabel(usual)
	case usual != "" && f.Default != nil:
		return f.optionLabel(usual) + " (default)"
	case usual != "":
		return usual + " (model default)"
	case f.Required:
		return "Choose…"
	}
	return "Not set"
}

// slides reports whether a number has a slider, which needs both bounds and space.
func (f *NodeField) slides() bool { return !f.Limit && f.Min != nil && f.Max != nil && *f.Max > *f.Min }

// inDollars reports whether a number is an amount of money.
func (f *NodeField) inDollars() bool { return strings.HasSuffix(f.Name, "_usd") }

// step returns the step size of the slider.
func (f *NodeField) step() string {
	span := *f.Max - *f.Min
	switch {
	case f.Form.As == flow.FieldInteger:
		return "1"
	case span <= 2:
		return "0.01"
	case span <= 20:
		return "0.1"
	}
	return "1"
}

// slid returns the position of the slider.
func (f *NodeField) slid() string {
	return cmp.Or(f.text(0), f.usual(), decimalOf(f.Min))
}

// decimalOf formats an optional bound for an HTML attribute; nil gives "", which browsers
// ignore.
func decimalOf(f *float64) string {
	if f == nil {
		return ""
	}
	return flow.Text(flow.Number(*f))
}

// switched reports whether a boolean is shown as a switch, which requires a default. Otherwise
// it has three options.
func (f *NodeField) switched() bool { return f.Default != nil || f.Suggest != nil }

// on reports whether the switch is on.
func (f *NodeField) on() bool { return cmp.Or(f.text(0), f.usual()) == "true" }

// options returns the choices, and the current one if it no longer exists.
func (f *NodeField) options() []fieldOption {
	names := f.Options
	if f.Type == flow.FieldValueType && names == nil {
		for _, t := range contract.InputTypes {
			names = append(names, string(t))
		}
	}
	var list []fieldOption
	for i, name := range names {
		if f.Default != nil && f.Type != flow.FieldValueType && name == f.usual() && f.text(0) != name {
			continue // the empty option says it
		}
		value := any(name)
		if f.Values != nil {
			value = f.Values[i]
		}
		list = append(list, fieldOption{name, string(flow.EncodeJSON(value)), f.optionLabel(name)})
	}
	if now := f.text(0); now != "" && !slices.Contains(names, now) {
		list = append(list, fieldOption{now, string(flow.EncodeJSON(now)), now})
	}
	return list
}

// flowOptions returns the published flows to choose from, and the current one if it no longer exists.
func (f *NodeField) flowOptions() []FlowChoice {
	now := f.text(0)
	isNow := func(o FlowChoice) bool { return now != "" && (o.ID == now || o.Slug == now) }
	list := slices.DeleteFunc(slices.Clone(f.Flows.List), func(o FlowChoice) bool { return o.Live == 0 && !isNow(o) })
	if now == "" || slices.ContainsFunc(list, isNow) {
		return list
	}
	return append(list, FlowChoice{ID: now, Name: now})
}

// childFlow returns the ID of the chosen flow, or "" if it doesn't exist.
func (f *NodeField) childFlow() string {
	for _, o := range f.Flows.List {
		if now := f.text(0); now != "" && (o.ID == now || o.Slug == now) {
			return o.ID
		}
	}
	return ""
}

// longFlow is the length of a name, in characters, from which on the field that chooses a flow may
// cut it.
const longFlow = 32

// cutFlow returns the name of the chosen flow if it is too long for the field, or "".
func (f *NodeField) cutFlow() string {
	for _, o := range f.flowOptions() {
		if now := f.text(0); now != "" && (o.ID == now || o.Slug == now) && utf8.RuneCountInString(o.Name) >= longFlow {
			return o.Name
		}
	}
	return ""
}

// childPath returns the URL of a flow in the builder, with the way back to the flow that runs it.
func childPath(child, parent string) templ.SafeURL {
	return components.FlowURL(child, "") + templ.SafeURL("?from="+url.QueryEscape(parent))
}

// fieldOption is an option with the JSON that it stores.
type fieldOption struct{ Text, JSON, Label string }

// fileRow describes a stored file.
type fileRow struct{ ID, Name, Size, MIME string }

// picture reports whether the page may show a preview of the file. SVG files have none, because
// they can contain scripts.
func (r fileRow) picture() bool {
	return strings.HasPrefix(r.MIME, "image/") && !strings.HasPrefix(r.MIME, "image/svg")
}

func (r fileRow) path() string { return "/files/" + r.ID }

// fileAt returns the file in row i.
func (f *NodeField) fileAt(i int) (r fileRow, ok bool) {
	v, err := flow.DecodeJSON([]byte(f.kept(i)))
	id, isFile := flow.FileID(v)
	if err != nil || !isFile {
		return r, false
	}
	m, _ := flow.AsMap(v)
	r = fileRow{ID: id, Name: cmp.Or(flow.Text(m["name"]), id), MIME: flow.Text(m["mime"])}
	if size, ok := flow.Float(m["size"]); ok {
		r.Size = flow.Size(int64(size))
	}
	return r, true
}

// referAt returns the name of the credential in row i.
func (f *NodeField) referAt(i int) string {
	v, _ := flow.DecodeJSON([]byte(f.kept(i)))
	name, _ := flow.SecretRef(v)
	return name
}

// takesFiles reports whether rows of a list may be files.
func (f *NodeField) takesFiles() bool {
	return f.Value == flow.TypeSources
}

// takesURL reports whether a file may be given by its URL.
func (f *NodeField) takesURL() bool { return f.Value == flow.TypeSource || f.Value == flow.TypeSources }

// choices returns the credentials to choose from, those of the field's provider first. The
// current one is included even if it doesn't exist.
func (f *NodeField) choices(named string) []credentialOption {
	var list []credentialOption
	there := named == ""
	for _, c := range f.Credentials {
		there = there || c.Name == named
		list = append(list, credentialOption{Name: c.Name, Label: credentialLabel(c), Fits: f.Provider != "" && c.Provider == f.Provider})
	}
	sorting.By(list, func(a, b credentialOption) int { return cmp.Compare(b.rank(), a.rank()) })
	if !there {
		list = append(list, credentialOption{Name: named, Label: named + " (does not exist)"})
	}
	return list
}

// credentialOption is an option in a list of credentials. Fits is set if the credential belongs
// to the provider that the field needs.
type credentialOption struct {
	Name, Label string
	Fits        bool
}

// rank returns the sort key of an option, highest first: matching credentials come before
// others.
func (o credentialOption) rank() int {
	if o.Fits {
		return 1
	}
	return 0
}

// json returns the reference that the field stores, which names the credential and contains no
// secret.
func (o credentialOption) json() string {
	return string(flow.EncodeJSON(map[string]any{"credential": o.Name}))
}

func credentialLabel(c CredentialChoice) string {
	if c.Provider == "" || c.Provider == c.Name || strings.Contains(c.Provider, ":") {
		return c.Name
	}
	return c.Name + " · " + c.Provider
}

// noCredential returns the label of the option for no credential.
func (f *NodeField) noCredential() string {
	if f.Provider != "" {
		return "The workspace’s own for " + f.Provider
	}
	return "None"
}

// bounds describes the range of a number.
func (f *NodeField) bounds() string {
	if f.Form.As != flow.FieldNumber && f.Form.As != flow.FieldInteger {
		return ""
	}
	switch {
	case f.Min != nil && f.Max != nil:
		return fmt.Sprintf("%s to %s", decimalOf(f.Min), decimalOf(f.Max))
	case f.Min != nil:
		return "from " + decimalOf(f.Min)
	case f.Max != nil:
		return "up to " + decimalOf(f.Max)
	}
	return ""
}

// described returns the IDs of the elements that describe the control.
func (f *NodeField) described() string {
	list := []string{}
	if f.Error != "" || len(f.Problems) > 0 {
		list = append(list, f.id()+"-error")
	}
	if f.Help != "" {
		list = append(list, f.id()+"-help")
	}
	return strings.Join(list, " ")
}
