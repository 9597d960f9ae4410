package nodes

import (
	"slices"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/value"
	"sluice/nodes/pinned"
	"sluice/providers/hosted"
)

// shaped returns the kind with the ports and fields of a config.
func shaped(config map[string]any) *flow.Kind {
	return New(Deps{}).For(&flow.Node{ID: "n", Kind: "hosted_model", Config: config})
}

func TestHostedModel_declares_inputs_as_fields(t *testing.T) {
	t.Parallel()
	k := shaped(painting(t, painter, nil))
	tests := []struct {
		name     string
		kind     flow.FieldType
		port     flow.Type
		template bool
		required bool
	}{
		{"prompt", flow.FieldArea, flow.TypeText, true, true},
		{"width", flow.FieldInteger, flow.TypeNumber, false, false},
		{"scheduler", flow.FieldSelect, flow.TypeText, false, false},
		{"steps", flow.FieldSelect, flow.TypeAny, false, false},
		{"image", flow.FieldFile, flow.TypeSource, false, false},
		{"images", flow.FieldList, flow.TypeSources, false, false},
		{"tags", flow.FieldList, flow.TypeAny, true, false},
		{"upscale", flow.FieldBoolean, flow.TypeBoolean, false, false},
		{"strength", flow.FieldNumber, flow.TypeNumber, false, false},
		{"api_key", flow.FieldSecret, flow.TypeAny, false, false},
		{"layers", flow.FieldJSON, flow.TypeAny, true, false},
	}
	var names []string
	for _, f := range k.Fields {
		if input, ok := strings.CutPrefix(f.Name, pinned.InputPrefix); ok {
			names = append(names, input)
		}
	}
	for i, tt := range tests {
		f := k.Field(pinned.InputPrefix + tt.name)
		if f == nil || f.Type != tt.kind || f.PortType() != tt.port || f.Template != tt.template || f.Required != tt.required || f.Default != nil || f.Title == "" {
			t.Errorf("%s: %+v", tt.name, f)
		}
		if names[i] != tt.name {
			t.Errorf("%s is not at place %d: %v", tt.name, i, names)
		}
	}
	width, steps := k.Field("input.width"), k.Field("input.steps")
	if *width.Min != 64 || *width.Max != 2048 || flow.Text(width.Suggest) != "512" || k.Open != "" {
		t.Errorf("width %+v, open %q", width, k.Open)
	}
	if !slices.Equal(steps.Options, []string{"10", "20", "50"}) || len(steps.Values) != 3 || k.Field("input.scheduler").Values != nil {
		t.Errorf("choices %v %v", steps.Options, steps.Values)
	}
	if !k.Field("input.layers").More || k.Field("input.prompt").More || !k.Field("input.disable_safety_checker").More {
		t.Error("the wrong fields are shown first")
	}
}

func TestHostedModel_declares_outputs_as_ports(t *testing.T) {
	t.Parallel()
	var got []string
	for _, p := range shaped(painting(t, teller, nil)).Outputs {
		got = append(got, p.Name+" "+string(p.Type))
	}
	if want := []string{"output any", "mask file", "score number", "more json", "note text"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestHostedModel_types_its_output checks that the port output has the type of the schema but
// can still be connected to any port, because a schema may be wrong.
func TestHostedModel_types_its_output(t *testing.T) {
	t.Parallel()
	kinds := New(Deps{})
	for schemas, want := range map[string]flow.Type{
		`{"Input": {"type": "object"}, "Output": {"type": "string"}}`: flow.TypeText, painter: flow.TypeList, writer: flow.TypeText, teller: flow.TypeJSON,
		`{"Input": {"type": "object"}, "Output": {"type": "string", "format": "uri"}}`: flow.TypeFile,
		`{"Input": {"type": "object"}, "Output": {}}`:                                  flow.TypeAny,
		`{"Input": {"type": "object"}}`:                                                flow.TypeAny,
	} {
		n := flow.Node{ID: "n", Kind: "hosted_model", Config: painting(t, schemas, nil)}
		output := kinds.For(&n).Outputs[0]
		if output.Name != "output" || output.ShownType() != want || output.Type != flow.TypeAny {
			t.Errorf("%s: %+v, want %s", schemas, output, want)
		}
		if plain := kinds.Find("hosted_model").Outputs[0]; plain.Shown != "" {
			t.Fatalf("the kind itself was changed: %+v", plain)
		}
	}
}

func TestHostedModel_without_schema_accepts_any_input(t *testing.T) {
	t.Parallel()
	k := shaped(map[string]any{"model": "acme/painter", "input.prompt": "a {{b}}", "input.api_key": "x", "input.": "y"})
	prompt, key := k.Field("input.prompt"), k.Field("input.api_key")
	if k.Open != pinned.InputPrefix || prompt.Type != flow.FieldJSON || !prompt.Template || key.Type != flow.FieldSecret || k.Field("input.") != nil {
		t.Errorf("open %q, %+v, %+v", k.Open, prompt, key)
	}
}

// TestHostedModel_accepts_shipped_catalog makes a node for every model in the shipped
// catalog and sets the suggested values.
func TestHostedModel_accepts_shipped_catalog(t *testing.T) {
	t.Parallel()
	kinds, tried := New(Deps{}), 0
	for _, c := range hosted.Catalog().Categories() {
		for _, l := range hosted.Catalog().Models(c.Slug) {
			m, _ := hosted.Catalog().Find(hosted.Ref{Owner: l.Owner, Name: l.Name})
			if m.Input == nil {
				continue
			}
			tried++
			n := flow.Node{ID: "n", Kind: "hosted_model", Config: map[string]any{}}
			if err := PinModel(&n, m); err != nil {
				t.Fatal(l, err)
			}
			k := kinds.For(&n)
			for _, f := range k.Fields {
				if strings.HasPrefix(f.Name, pinned.InputPrefix) && f.Suggest != nil {
					n.Config[f.Name] = f.Suggest
				}
			}
			doc := &flow.Document{Schema: flow.Schema, Name: "Test", Nodes: []flow.Node{n}, Edges: []flow.Edge{}}
			again, problems := document.ParseDocument(doc.Encode())
			if len(problems) > 0 {
				t.Fatal(l, problems)
			}
			for _, p := range document.Validate(again, kinds) {
				if p.Code != "required" {
					t.Errorf("%s/%s: %v", l.Owner, l.Name, p)
				}
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d models tried", tried)
	}
}

func TestHostedModel_rejects_invalid_config(t *testing.T) {
	t.Parallel()
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	with := func(config map[string]any) map[string]any {
		out := painting(t, painter, map[string]any{"input.prompt": "x"})
		for k, v := range config {
			out[k] = v
		}
		return out
	}
	large := map[string]any{"input": map[string]any{"type": "object", "description": strings.Repeat("x", pinned.MaxBytes)}}
	tests := []struct {
		name   string
		config map[string]any
		want   string // pointer and code; empty: no problem
		says   string
	}{
		{"a kept schema", with(nil), "", ""},
		{"no schema", map[string]any{"model": "acme/painter", "input.whatever": map[string]any{"a": true}}, "", ""},
		{"a template where the schema wants a choice is for the run", with(map[string]any{"input.layers": []any{map[string]any{"mask": "{{m}}"}}}), "", ""},
		{"a file inside of JSON", with(map[string]any{"input.layers": []any{map[string]any{"mask": map[string]any{"file": "file_" + strings.Repeat("0", 26)}}}}), "", ""},
		{"no model", map[string]any{}, "/model required", ""},
		{"no name of a model", map[string]any{"model": "painter"}, "/model invalid", "owner/name"},
		{"an invalid version", map[string]any{"model": "acme/painter", "version": "7"}, "/version invalid", "64"},
		{"two versions", map[string]any{"model": "acme/painter:" + a, "version": b}, "/version invalid", "remove one"},
		{"the same version twice", map[string]any{"model": "acme/painter:" + a, "version": strings.ToUpper(a)}, "", ""},
		{"the schema of another version", with(map[string]any{"version": b}), "/schema invalid", "aaaaaaaaaaaa…"},
		{"an invalid schema", with(map[string]any{"schema": "x"}), "/schema invalid", "not a stored schema"},
		{"a schema without inputs", with(map[string]any{"schema": map[string]any{}}), "/schema invalid", "no input"},
		{"a schema that is too large", with(map[string]any{"schema": large}), "/schema invalid", "256 KiB"},
		{"a model that cannot be used", with(map[string]any{"schema": map[string]any{"version": a, "input": map[string]any{"type": "string"}}}), "/model model_incompatible", "named inputs"},
		{"an input that the model has not", with(map[string]any{"input.widht": flow.Number(1)}), "/input.widht unknown_field", "width"},
		{"a number out of bounds", with(map[string]any{"input.width": flow.Number(1)}), "/input.width out_of_range", "64"},
		{"a choice that there is not", with(map[string]any{"input.steps": flow.Number(11)}), "/input.steps not_allowed", "50"},
		{"what only the schema knows", with(map[string]any{"input.layers": "x"}), "/input.layers invalid", "a list"},
		{"a number for a text", with(map[string]any{"input.tags": []any{map[string]any{}}}), "/input.tags invalid", "text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ports := map[string]any{}
			if pinned.FillsIn(tt.config["input.layers"]) {
				ports["m"] = "x"
			}
			problems := hostedUse(tt.config, ports).problems(t)
			got, says := "", ""
			for _, p := range problems {
				at, _ := strings.CutPrefix(p.Pointer, "/nodes/0/config")
				got, says = got+at+" "+p.Code, says+p.Detail
			}
			if got != tt.want {
				t.Errorf("got %v, want %q", problems, tt.want)
			}
			has(t, says, tt.says)
		})
	}
}

func TestHostedModel_extracts_secrets(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]map[string]any{
		"with a kept schema": painting(t, painter, map[string]any{"input.prompt": "x", "input.api_key": "hunter22"}),
		"without":            {"model": "acme/painter", "input.api_key": "hunter22"},
	} {
		doc := &flow.Document{Nodes: []flow.Node{{ID: "n", Kind: "hosted_model", Config: config}}}
		lifted := document.ExtractSecrets(doc, New(Deps{}), func(*document.ExtractedSecret) string { return "kept" })
		if len(lifted) != 1 || lifted[0].Secret != "hunter22" || lifted[0].Host != "api.replicate.com" || strings.Contains(string(doc.Encode()), "hunter22") {
			t.Errorf("%s: %+v", name, lifted)
		}
	}
}

func TestPinModel(t *testing.T) {
	t.Parallel()
	m := modelOf("acme/painter", strings.Repeat("a", 64), painter)
	n := &flow.Node{ID: "n", Config: map[string]any{"model": "acme/old:" + strings.Repeat("b", 64), "input.prompt": "x"}}
	if err := PinModel(n, m); err != nil {
		t.Fatal(err)
	}
	if n.Config["model"] != "acme/painter" || n.Config["version"] != m.Version || n.Config["input.prompt"] != "x" {
		t.Errorf("%v", n.Config)
	}
	value.Get(n.Config["schema"], "input").(*flow.Object).Set("type", "changed")
	if m.Input["type"] != "object" {
		t.Error("the node shares the model's schema")
	}
	m.Official = true
	if err := PinModel(n, m); err != nil || n.Config["version"] != nil {
		t.Errorf("an official model is kept at %v (%v)", n.Config["version"], err)
	}
	trainer := modelOf("acme/trainer", strings.Repeat("a", 64), `{"TrainingInput": {"type": "object"}}`)
	large := modelOf("acme/large", strings.Repeat("a", 64), `{"Input": {"type": "object", "properties": {"x": {"type": "string", "description": "`+strings.Repeat("x", pinned.MaxBytes)+`"}}}}`)
	for _, bad := range []*hosted.Model{trainer, large} {
		n := &flow.Node{Config: map[string]any{"model": "acme/painter"}}
		if err := PinModel(n, bad); flow.AsError(err).Code != flow.CodeModelIncompatible || len(n.Config) != 1 {
			t.Errorf("%s: %v, %v", bad.Path(), err, n.Config)
		}
	}
}

func TestUpgradeModel(t *testing.T) {
	t.Parallel()
	newer := modelOf("acme/painter", strings.Repeat("b", 64), `{"Input": {"type": "object", "required": ["prompt", "style"], "properties": {
		"prompt": {"type": "string"}, "style": {"type": "string"}, "width": {"type": "integer", "minimum": 512},
		"scheduler": {"type": "string", "enum": ["DDIM"]}, "image": {"type": "string", "format": "uri"}}},
		"Output": {"type": "object", "properties": {"picture": {"type": "string", "format": "uri"}}}}`)
	n := &flow.Node{ID: "n", Kind: "hosted_model", Config: painting(t, painter, map[string]any{
		"input.prompt": "a {{animal}}", "input.width": flow.Number(128), "input.scheduler": "DDIM", "input.tags": []any{"{{tag}}"}, "input.strength": flow.Number(1)})}
	edges := []flow.Edge{
		{From: "i.value", To: "n.input.image"}, {From: "i.value", To: "n.input.images"}, {From: "i.value", To: "n.animal"}, {From: "i.value", To: "n.tag"},
		{From: "n.output", To: "o.value"}, {From: "n.error", To: "o.value"}, {From: "i.value", To: "other.input.images"},
	}
	up, err := UpgradeModel(n, edges, newer)
	if err != nil {
		t.Fatal(err)
	}
	var values, lost []string
	for _, v := range up.Values {
		values = append(values, v.Field)
	}
	for _, e := range up.Edges {
		lost = append(lost, e.Edge.From+" "+e.Edge.To)
	}
	if want := []string{"input.strength", "input.tags", "input.width"}; !slices.Equal(values, want) {
		t.Errorf("values %v, want %v", values, want)
	}
	if want := []string{"i.value n.input.images", "i.value n.tag", "n.error o.value"}; !slices.Equal(lost, want) {
		t.Errorf("edges %v, want %v", lost, want)
	}
	if up.From != strings.Repeat("a", 64) || up.To != newer.Version || !up.Changes.Breaking || n.Config["version"] != newer.Version {
		t.Errorf("%s to %s, breaking %v", up.From, up.To, up.Changes.Breaking)
	}
	if len(n.Config) != 8 || n.Config["input.strength"] == nil {
		t.Errorf("something was dropped: %v", n.Config)
	}
}
