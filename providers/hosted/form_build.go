package hosted

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sluice/flow/sorting"
)

// shownFirst is the number of fields after which optional ones are folded under More.
const shownFirst = 4

// NewForm builds the form of a model from its schema. It never fails: an input without a
// better widget has a JSON editor, and Incompatible is set if the model cannot be used.
func NewForm(m *Model) *Form {
	r := newResolver(m.All)
	f := &Form{Output: outputOf(m, r)}
	props, ok := inputProperties(m)
	switch {
	case m.Input == nil && m.All["TrainingInput"] != nil:
		f.Incompatible = "This model can only be trained, not used."
	case m.Input == nil:
		f.Open = true
	case !ok:
		f.Incompatible = "This model does not take named inputs, so no form can be made for it."
	case len(props) > maxInputs:
		f.Incompatible = "This model has more than " + strconv.Itoa(maxInputs) + " inputs."
	case m.Output["type"] == "null":
		f.Incompatible = "This model has no output."
	}
	if f.Incompatible == "" {
		f.Fields = fields(m, r, props)
	}
	f.Parts = maxParts - max(r.left, 0)
	return f
}

// inputProperties returns the schemas of the inputs by name, and false if the input is not
// an object. An object without properties is a model without inputs.
func inputProperties(m *Model) (map[string]any, bool) {
	if t, typed := m.Input["type"]; typed && t != "object" {
		return nil, false
	}
	props, ok := m.Input["properties"].(map[string]any)
	if !ok && m.Input["properties"] != nil {
		return nil, false
	}
	return props, ok || m.Input["type"] == "object"
}

// fields returns the fields of a form in the order that the platform shows them
// (x-order). Optional fields after the first shownFirst are folded under More.
func fields(m *Model, r *resolver, props map[string]any) []Field {
	required := map[string]bool{}
	list, _ := names(m.Input["required"])
	for _, name := range list {
		required[name.(string)] = true
	}
	out := make([]Field, 0, len(props))
	orders := map[string]float64{}
	for _, name := range sorting.Keys(props) {
		s := r.resolve(props[name])
		orders[name] = orderOf(s)
		out = append(out, newField(name, s, required[name]))
	}
	sorting.By(out, func(a, b Field) int {
		return cmp.Or(cmp.Compare(orders[a.Name], orders[b.Name]), cmp.Compare(a.Name, b.Name))
	})
	for i := range out {
		out[i].More = !out[i].Required && i >= shownFirst || out[i].Name == "disable_safety_checker"
	}
	return out
}

// orderOf returns the position of a property (x-order). Properties without one come last.
func orderOf(s map[string]any) float64 {
	n, ok := number(s["x-order"])
	if !ok {
		return math.Inf(1)
	}
	return n
}

// newField returns the field for a property of the input schema. A default that the
// schema itself refuses is dropped; see defaultOf.
func newField(name string, s map[string]any, required bool) Field {
	f := Field{
		Name: name, Title: fieldTitle(name, s), Description: fieldDescription(s),
		Required: required, Schema: s,
		Min: bound(s["minimum"]), Max: bound(s["maximum"]), MaxItems: count(s["maxItems"]),
	}
	f.Widget = widgetOf(name, s)
	f.Whole = wholeField(f.Widget, s)
	if f.Widget == WidgetSelect {
		f.Options = options(s)
	}
	f.Default = defaultOf(f.Widget, s)
	return f
}

// wholeField reports whether the field accepts only whole numbers. The widget alone does
// not imply that: sliders and selects are used for both types of numbers.
func wholeField(w Widget, s map[string]any) bool {
	number := w == WidgetInteger || w == WidgetSlider || w == WidgetSelect
	return number && s["type"] == "integer"
}

// defaultOf returns the default if it is a valid value of the field, else nil. Some authors
// use names of local files or values that their own schema refuses.
func defaultOf(w Widget, s map[string]any) any {
	v := s["default"]
	if name, ok := s["type"].(string); ok {
		v = asType(v, name)
	}
	if address, ok := v.(string); w == WidgetFile && ok && !IsAddress(address) || w == WidgetSecret {
		return nil
	}
	if v == nil || !valid(s, v) {
		return nil
	}
	return v
}

// IsAddress reports whether a text is an HTTP or data URL.
func IsAddress(s string) bool {
	return strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "data:")
}

// widgetOf returns the control for a property: a select for plain options, else one by
// its type. Other properties are edited as JSON.
func widgetOf(name string, s map[string]any) Widget {
	if enum, ok := s["enum"].([]any); ok && s["type"] != "boolean" && scalars(enum) {
		return WidgetSelect
	}
	switch s["type"] {
	case "boolean":
		return WidgetSwitch
	case "integer", "number":
		return numberWidget(s)
	case "string":
		return textWidget(name, s)
	case "array":
		return listWidget(s)
	}
	return WidgetJSON
}

// numberWidget returns a slider if there is a range to slide in, else a number field.
func numberWidget(s map[string]any) Widget {
	low, high := bound(s["minimum"]), bound(s["maximum"])
	switch {
	case low != nil && high != nil && *low < *high:
		return WidgetSlider
	case s["type"] == "integer":
		return WidgetInteger
	}
	return WidgetNumber
}

// secretName matches inputs that are credentials by their name. Most authors do not mark
// them, and a typed value would be stored in the flow in plain text.
var secretName = regexp.MustCompile(`(?i)(^|_)(api_?key|(access|auth|api|hf|hugging_?face|civitai|replicate|bearer)_?(access_|api_)?token|password|passwd|secret(_?key)?)$`)

// longName matches the names of inputs that usually hold more than a line of text.
var longName = regexp.MustCompile(`(?i)(^|_)(prompt|text|lyrics|script|story|message|messages|question|instruction|instructions|context|content|document|caption|description|sentence|paragraph|article|code|template)(_|s?$|[0-9])`)

// textWidget returns the control for a string: a credential if it is marked or named as
// a secret, a file for the format uri, and a large field if its name or default
// suggests long text.
func textWidget(name string, s map[string]any) Widget {
	text, _ := s["default"].(string)
	secret, _ := s["x-cog-secret"].(bool)
	hidden, _ := s["writeOnly"].(bool)
	switch {
	case secret || hidden || s["format"] == "password" || secretName.MatchString(name):
		return WidgetSecret
	case s["format"] == "uri":
		return WidgetFile
	case longName.MatchString(name) || strings.Contains(text, "\n") || len(text) > 80:
		return WidgetTextarea
	}
	return WidgetText
}

// listWidget returns the control for a list by the type of its items. Lists of lists
// and of objects are edited as JSON.
func listWidget(s map[string]any) Widget {
	items, _ := s["items"].(map[string]any)
	switch items["type"] {
	case "string":
		if items["format"] == "uri" {
			return WidgetFiles
		}
		return WidgetList
	case "integer", "number", "boolean":
		return WidgetList
	}
	return WidgetJSON
}

// options returns the values of a select with their types, without duplicates.
func options(s map[string]any) []any {
	var out []any
	seen := map[any]bool{}
	for _, v := range s["enum"].([]any) {
		key := v
		if n, ok := number(v); ok {
			key = n
		}
		if v != nil && !seen[key] {
			seen[key] = true
			out = append(out, v)
		}
	}
	return out
}

// scalars reports whether a select can show the options: there is at least one plain
// value, and nothing but plain values and null, which is ignored.
func scalars(list []any) bool {
	some := false
	for _, v := range list {
		switch v.(type) {
		case nil:
		case string, bool, json.Number, float64, int, int64:
			some = true
		default:
			return false
		}
	}
	return some
}

// asType converts a value to the type of a schema if it has another notation of such a
// value: "32" for 32, "True" for true. It returns any other value unchanged.
func asType(v any, name string) any {
	text, isText := v.(string)
	switch name {
	case "integer", "number":
		f, err := strconv.ParseFloat(text, 64)
		if isText && err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) && (name == "number" || f == math.Trunc(f)) && json.Valid([]byte(text)) {
			return json.Number(text)
		}
	case "boolean":
		if isText && (strings.EqualFold(text, "true") || strings.EqualFold(text, "false")) {
			return strings.EqualFold(text, "true")
		}
	case "string":
		if n, ok := number(v); ok {
			return strconv.FormatFloat(n, 'g', -1, 64)
		}
	}
	return v
}

// sameValue reports whether two JSON values are equal. Numbers are compared numerically.
func sameValue(a, b any) bool {
	x, okX := number(a)
	y, okY := number(b)
	if okX || okY {
		return okX && okY && x == y
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameValue)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, sameValue)
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

// bound returns a numeric limit of a schema, or nil if it is missing or not a number.
func bound(v any) *float64 {
	n, ok := number(v)
	if !ok {
		return nil
	}
	return &n
}

// count returns a limit on the number of items, or nil if it is missing, negative or
// implausibly large (more than a million).
func count(v any) *int {
	n, ok := number(v)
	if !ok || n < 0 || n > 1e6 {
		return nil
	}
	i := int(n)
	return &i
}
