package hosted_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/e2e/need"
	"sluice/e2e/npm"
	"sluice/providers/hosted"
)

// public is a model of the corpus: all public models of the platform with
// their schemas, January 2025.
type public struct {
	Owner, Name   string
	LatestVersion struct {
		OpenAPISchema struct {
			Components struct{ Schemas map[string]any }
		} `json:"openapi_schema"`
	} `json:"latest_version"`
}

// tally is what the corpus test counts.
type tally struct {
	models, properties, defaults, keptDefaults int
	widgets                                    map[hosted.Widget]int
	outputs                                    map[hosted.OutputType]int
	unfit                                      []string
}

// TestCorpus makes a form of every public model. Whether a field fits is judged
// here a second time, from the raw schema and by other code; a JSON editor
// never counts as fitting.
func TestCorpus(t *testing.T) {
	t.Parallel()
	need.Time(t)
	file, err := os.Open(filepath.Join(npm.Install(t, "testdata/npm"), "all-the-public-replicate-models", "models.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n := tally{widgets: map[hosted.Widget]int{}, outputs: map[hosted.OutputType]int{}}
	d := json.NewDecoder(file)
	d.UseNumber()
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		var m public
		if err := d.Decode(&m); err != nil {
			t.Fatal(err)
		}
		n.take(t, &m)
	}
	fit := 1 - float64(len(n.unfit))/float64(n.properties)
	t.Logf("%d models, %d inputs: %.3f %% with a fitting field (%d not)", n.models, n.properties, 100*fit, len(n.unfit))
	t.Logf("%d defaults, %d kept; fields %v; outputs %v", n.defaults, n.keptDefaults, n.widgets, n.outputs)
	for _, u := range n.unfit[:min(len(n.unfit), 20)] {
		t.Log("does not fit: " + u)
	}
	if n.models < 3_800 || n.properties < 48_000 {
		t.Error("the corpus is smaller than it was")
	}
	if fit < 0.9999 {
		t.Error("too many inputs without a fitting field")
	}
	if lost := n.defaults - n.keptDefaults; lost > 20 {
		t.Errorf("%d defaults were dropped", lost)
	}
}

func (n *tally) take(t *testing.T, p *public) {
	schemas := p.LatestVersion.OpenAPISchema.Components.Schemas
	m := &hosted.Model{All: schemas}
	m.Input, _ = schemas["Input"].(map[string]any)
	m.Output, _ = schemas["Output"].(map[string]any)
	form := hosted.NewForm(m)
	id := p.Owner + "/" + p.Name
	n.models++
	if form.Incompatible != "" {
		t.Errorf("%s: %s", id, form.Incompatible)
	}
	n.outputs[form.Output.Type]++
	props, _ := m.Input["properties"].(map[string]any)
	if len(props) != len(form.Fields) {
		t.Errorf("%s: %d fields for %d inputs", id, len(form.Fields), len(props))
	}
	required, _ := m.Input["required"].([]any)
	last := -1.0
	for _, field := range form.Fields {
		raw := flat(props[field.Name], schemas)
		n.properties++
		n.widgets[field.Widget]++
		if why := unfit(field, raw); why != "" {
			n.unfit = append(n.unfit, fmt.Sprintf("%s %s: %s", id, field.Name, why))
		}
		order, _ := raw["x-order"].(json.Number).Float64()
		if order < last || field.Required != slices.Contains(required, any(field.Name)) {
			t.Errorf("%s %s: out of order, or required is wrong", id, field.Name)
		}
		last = order
		n.countDefault(t, id, form, field, raw)
	}
}

// countDefault sees that a default passes its own check. Those that are no
// value, a credential, or a file on the author's machine are not expected.
func (n *tally) countDefault(t *testing.T, id string, form *hosted.Form, field hosted.Field, raw map[string]any) {
	if v := raw["default"]; v != nil && field.Widget != hosted.WidgetSecret && (raw["format"] != "uri" || strings.HasPrefix(fmt.Sprint(v), "http")) {
		n.defaults++
		if field.Default != nil {
			n.keptDefaults++
		}
	}
	if field.Default == nil {
		return
	}
	if fmt.Sprint(field.Default) != fmt.Sprint(raw["default"]) {
		t.Errorf("%s %s: default %v instead of %v", id, field.Name, field.Default, raw["default"])
	}
	if problems := form.Check(map[string]any{field.Name: field.Default}); len(problems) > 0 {
		t.Errorf("%s %s: its default %v does not pass: %v", id, field.Name, field.Default, problems)
	}
}

// flat is a property with what it refers to, one level deep: the corpus has no
// deeper ones.
func flat(v any, schemas map[string]any) map[string]any {
	out := map[string]any{}
	prop, _ := v.(map[string]any)
	parts, _ := prop["allOf"].([]any)
	for _, part := range parts {
		ref, _ := part.(map[string]any)["$ref"].(string)
		target, _ := schemas[ref[strings.LastIndex(ref, "/")+1:]].(map[string]any)
		for k, w := range target {
			out[k] = w
		}
	}
	for k, w := range prop {
		out[k] = w
	}
	return out
}

// unfit says why a field is not what its schema calls for.
func unfit(f hosted.Field, raw map[string]any) string {
	_, low := raw["minimum"]
	_, high := raw["maximum"]
	choices, isChoice := raw["enum"].([]any)
	items, _ := raw["items"].(map[string]any)
	kind := fmt.Sprint(raw["type"], " ", raw["format"], " ", items["type"], " ", items["format"])
	want := []hosted.Widget{}
	switch {
	case isChoice && raw["type"] != "boolean":
		if why := unfitOptions(f.Options, choices, raw["type"]); why != "" {
			return why
		}
		want = append(want, hosted.WidgetSelect)
	case raw["type"] == "boolean":
		want = append(want, hosted.WidgetSwitch)
	case (raw["type"] == "integer" || raw["type"] == "number") && low && high && fmt.Sprint(raw["minimum"]) != fmt.Sprint(raw["maximum"]):
		want = append(want, hosted.WidgetSlider)
	case raw["type"] == "integer":
		want = append(want, hosted.WidgetInteger)
	case raw["type"] == "number":
		want = append(want, hosted.WidgetNumber)
	case strings.HasPrefix(kind, "string uri"):
		want = append(want, hosted.WidgetFile)
	case strings.HasPrefix(kind, "string password") || raw["x-cog-secret"] == true:
		want = append(want, hosted.WidgetSecret)
	case raw["type"] == "string":
		want = append(want, hosted.WidgetText, hosted.WidgetTextarea)
		for _, word := range []string{"token", "key", "password", "secret"} {
			if strings.Contains(strings.ToLower(f.Name), word) {
				want = append(want, hosted.WidgetSecret)
			}
		}
	case strings.HasSuffix(kind, "string uri"):
		want = append(want, hosted.WidgetFiles)
	case raw["type"] == "array" && items["type"] != nil:
		want = append(want, hosted.WidgetList)
	}
	if !slices.Contains(want, f.Widget) {
		return fmt.Sprintf("%s for %s, wanted %v", f.Widget, kind, want)
	}
	return ""
}

// unfitOptions wants every choice once, as a text or a number by what the
// schema states, or else by what the choice is.
func unfitOptions(options, choices []any, kind any) string {
	var seen []string
	for _, c := range choices {
		if slices.Contains(seen, fmt.Sprint(c)) {
			continue
		}
		seen = append(seen, fmt.Sprint(c))
		_, text := c.(string)
		if kind != nil {
			text = kind == "string"
		}
		if len(seen) > len(options) {
			return "options are missing"
		}
		o := options[len(seen)-1]
		if _, isText := o.(string); isText != text || fmt.Sprint(o) != fmt.Sprint(c) {
			return fmt.Sprintf("option %v (%T) for %v", o, o, c)
		}
	}
	if len(options) != len(seen) {
		return fmt.Sprintf("%d options, wanted %d", len(options), len(seen))
	}
	return ""
}
