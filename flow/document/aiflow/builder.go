package aiflow

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/sorting"
)

// builder makes one node of one source.
type builder struct {
	c         *conversion
	s         *source
	kind      *flow.Kind
	n         *flow.Node
	used      map[string]bool // settings of the source that were converted
	templates map[string]bool // config fields that hold Sluice templates, with braces escaped
}

// copyFields copies the settings that the rule maps to config fields. A setting without a
// value has its default.
func (b *builder) copyFields() {
	r := b.s.rule
	for _, p := range r.fields {
		v, set := b.s.values[p.from]
		if !set {
			v, set = b.s.defaults[p.from]
		}
		f := b.kind.Field(p.field())
		if !set || f == nil || b.n.Config[f.Name] != nil {
			continue
		}
		if f.Name == "model" {
			v = strings.TrimSpace(flow.Text(v))
		}
		if b.setField(f, v) {
			b.used[p.from] = true
		}
	}
	if r.provider != "" {
		b.qualifyModel(r)
	}
	if address := flow.Text(b.n.Config["url"]); address != "" && strings.Contains(redactURL(address), "=%E2%80%A6") {
		b.reportChange("The address of %s has a secret in it, which everybody who sees the flow can read. Move it to a header.", b.s.title())
	}
}

// setField converts a value to the type of a field and stores it. It reports whether the
// value fits.
func (b *builder) setField(f *flow.Field, v any) bool {
	fitted, ok := convertValue(f, v)
	if ok {
		b.n.Config[f.Name] = fitted
	}
	return ok
}

// qualifyModel rewrites the model as provider/model. If the file names no model, it uses
// the rule's default and reports that.
func (b *builder) qualifyModel(r *rule) {
	name := flow.Text(b.n.Config["model"])
	if name == "" && r.model != "" {
		name = r.model
		b.reportChange("%s named no model, so %s/%s is set. Choose another one if you like.", b.s.title(), r.provider, name)
	}
	delete(b.n.Config, "model")
	if name != "" {
		b.n.Config["model"] = r.provider + "/" + strings.TrimPrefix(name, r.provider+"/")
	}
}

// convertValue converts a value to the type of a field and reports whether it is valid there. It
// does not guess: invalid values are left out and reported as unused settings.
func convertValue(f *flow.Field, v any) (any, bool) {
	switch f.Type {
	case flow.FieldNumber, flow.FieldInteger:
		n, err := flow.Coerce(v, flow.TypeNumber)
		size, ok := flow.Float(n)
		inside := (f.Min == nil || size >= *f.Min) && (f.Max == nil || size <= *f.Max)
		return n, err == nil && ok && inside && (f.Type == flow.FieldNumber || size == float64(int64(size)))
	case flow.FieldSelect:
		return flow.Text(v), slices.Contains(f.Options, flow.Text(v))
	case flow.FieldBoolean:
		yes, err := strconv.ParseBool(flow.Text(v))
		return yes, err == nil
	case flow.FieldList:
		if list, ok := v.([]any); ok {
			return list, true
		}
		return []any{v}, true
	case flow.FieldMap:
		return namedTexts(v)
	case flow.FieldFile:
		return flow.Text(v), true
	}
	return flow.Text(v), true
}

// namedTexts reads headers in any form that AI-Flow exports: an object, a list of objects
// with name or key and value, a JSON text of either, or lines of "name: value".
func namedTexts(v any) (any, bool) {
	out := &flow.Object{}
	switch v := v.(type) {
	case string:
		if parsed, err := flow.DecodeJSON([]byte(v)); err == nil {
			if _, again := parsed.(string); !again {
				return namedTexts(parsed)
			}
		}
		for line := range strings.Lines(v) {
			name, value, ok := strings.Cut(line, ":")
			if name = strings.TrimSpace(name); name == "" && strings.TrimSpace(line) == "" {
				continue
			} else if !ok || name == "" {
				return nil, false
			}
			out.Set(name, strings.TrimSpace(value))
		}
	case *flow.Object:
		for name, value := range v.All() {
			out.Set(name, flow.Text(value))
		}
	case []any:
		for _, item := range v {
			m, _ := flow.AsMap(item)
			name := flow.Text(m["name"]) + flow.Text(m["key"])
			if name == "" {
				return nil, false
			}
			out.Set(name, flow.Text(m["value"]))
		}
	default:
		return nil, false
	}
	return out, true
}

// escapeTemplates escapes {{ in template fields, since the file means it literally.
func (b *builder) escapeTemplates() {
	k := b.c.kinds.For(b.n)
	for i := range k.Fields {
		f := &k.Fields[i]
		if v, set := b.n.Config[f.Name]; set && f.Template && !b.templates[f.Name] {
			b.n.Config[f.Name] = escapeBraces(v)
		}
	}
}

// escapeBraces returns a value with {{ escaped in every text. AI-Flow takes braces literally;
// Sluice would read {{name}} as an input.
func escapeBraces(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "{{", `\{{`)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = escapeBraces(v[i])
		}
		return out
	case *flow.Object:
		out, _ := v.Replace(func(_ string, item any) (any, error) { return escapeBraces(item), nil })
		return out
	}
	return v
}

// reportChange reports a name or text that differs from the file. Callers of the flow may
// depend on it.
func (b *builder) reportChange(format string, args ...any) {
	b.c.addNote(Note{Sort: Changed, Source: b.s.name, Node: b.n.ID, Text: fmt.Sprintf(format, args...)})
}

// reportUnused reports the settings that were not converted. It lists only their names,
// because the values may be secret.
func (b *builder) reportUnused() {
	var names []string
	for _, name := range sorting.Keys(b.s.values) {
		if !b.used[name] {
			names = append(names, cleanLabel(name))
		}
	}
	if len(names) > 0 {
		b.c.addNote(Note{Sort: Left, Source: b.s.name, Node: b.n.ID, Text: fmt.Sprintf("%s: these settings have no place here: %s.", b.s.title(), strings.Join(names, ", "))})
	}
}

// takeSetting returns the value of the first of these settings that is set and marks it as used,
// or nil if none is set.
func (b *builder) takeSetting(names ...string) any {
	for _, name := range names {
		if v, set := b.s.values[name]; set {
			b.used[name] = true
			return v
		}
	}
	return nil
}

// describeInput converts the name, default and description of an input. A name that is
// invalid in Sluice or taken is changed and reported, because callers must adapt to it.
func describeInput(b *builder) {
	wanted := flow.Text(b.takeSetting("api_input_name"))
	name := freeName(wanted, "input", b.c.inputs)
	if name != wanted {
		b.reportChange("The input “%s” is called “%s” here: names have letters, digits, _ and -, and are there once.", cleanLabel(wanted), name)
	}
	b.n.Config["name"], b.n.Config["type"] = name, "text"
	if v := b.takeSetting("default_value", "defaultValue", "api_input_default_value", "default", "value", "inputText"); v != nil {
		b.n.Config["default"] = flow.Text(v)
	}
	if v := b.takeSetting("description", "api_input_description"); v != nil {
		b.n.Config["description"] = flow.Text(v)
	}
}

// nameOutput gives an output a valid, unused name. If several outputs have the same name in
// the file, webhooks that send it get the first. A node without a name only displayed a
// result.
func nameOutput(b *builder) {
	wanted := flow.Text(b.takeSetting("api_output_name"))
	name := freeName(wanted, "output", b.c.outputs)
	if b.c.renamed[wanted] == "" {
		b.c.renamed[wanted] = name
	}
	if wanted == "" {
		b.reportChange("%s only showed a result; the result is the output “%s” now.", b.s.title(), name)
	} else if name != wanted {
		b.reportChange("The output “%s” is called “%s” here: names have letters, digits, _ and -, and are there once.", cleanLabel(wanted), name)
	}
	b.n.Config["name"] = name
}

// signatureHeader carries the signature of AI-Flow's webhooks.
const signatureHeader = "AI_FLOW_SIGNATURE"

// signWebhook converts the signature and the outputs of a webhook. The signature stays in
// the header that receivers check already. The outputs keep the names of the file until
// renameWebhookOutputs.
func signWebhook(b *builder) {
	if v := b.takeSetting("signature", "webhook_signature", "signing_secret", "secret"); v != nil {
		b.n.Config["signature"], b.n.Config["signature_header"] = flow.Text(v), signatureHeader
	}
	if chosen, _ := b.takeSetting("outputs", "selected_outputs", "api_outputs").([]any); len(chosen) > 0 {
		b.n.Config["outputs"] = chosen
	}
}

// collectImages appends the settings image_url, image_url_2 and so on to the field images.
func collectImages(b *builder) {
	list, _ := b.n.Config["images"].([]any)
	for _, name := range sorting.Keys(b.s.values) {
		if strings.HasPrefix(name, "image_url") && !b.used[name] {
			if more, isList := b.takeSetting(name).([]any); isList {
				list = append(list, more...)
			} else {
				list = append(list, b.s.values[name])
			}
		}
	}
	if len(list) > 0 {
		b.n.Config["images"] = list
	}
}

// maxInputDepth bounds the nesting of a hosted model's input. The document adds levels of its
// own, and its total depth is limited.
const maxInputDepth = 32

// copyModelInputs copies the inputs of a hosted model unchanged. Their fields come from
// the model's schema, so no rule can list them.
func copyModelInputs(b *builder) {
	model, version, _ := strings.Cut(strings.TrimSpace(flow.Text(b.takeSetting("model"))), ":")
	if model != "" {
		b.n.Config["model"] = model
	}
	if version != "" {
		b.n.Config["version"] = version
	}
	for _, name := range sorting.Keys(b.s.values) {
		known := len(b.s.declared) == 0 || b.s.declared[name]
		if known && name != "model" && depth(b.s.values[name]) <= maxInputDepth {
			b.n.Config["input."+name] = b.takeSetting(name)
		}
	}
}

// depth returns how deep lists and objects nest in a value; 0 for a scalar.
func depth(v any) int {
	most := 0
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			most = max(most, depth(item))
		}
	case *flow.Object:
		for _, item := range v.All() {
			most = max(most, depth(item))
		}
	default:
		return 0
	}
	return most + 1
}

// placeholder matches a placeholder for an input, such as ${input-1}.
var placeholder = regexp.MustCompile(`\$\{input-(\d{1,3})\}`)

// convertPlaceholders rewrites ${input-1} as {{input_1}} and escapes all other braces.
func convertPlaceholders(b *builder) {
	prompt := flow.Text(b.takeSetting("prompt", "text", "inputText"))
	var out strings.Builder
	spaced, done := false, 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(prompt, -1) {
		literal := prompt[done:at[0]]
		out.WriteString(escapeBraces(literal).(string))
		if endsInEscape(literal) {
			out.WriteByte(' ')
			spaced = true
		}
		out.WriteString("{{input_" + prompt[at[2]:at[3]] + "}}")
		done = at[1]
	}
	out.WriteString(escapeBraces(prompt[done:]).(string))
	b.n.Config["template"] = out.String()
	b.templates = map[string]bool{"template": true}
	if spaced {
		b.reportChange("%s had a { or \\ right before a value; a space stands between now.", b.s.title())
	}
}

// endsInEscape reports whether the end of a text would change the meaning of a placeholder right
// after it, as a single { or a backslash does.
func endsInEscape(literal string) bool {
	braces := len(literal) - len(strings.TrimRight(literal, "{"))
	return braces%2 == 1 || strings.HasSuffix(literal, `\`)
}

// trailingNumber matches the number of a placeholder at the end of a field's name.
var trailingNumber = regexp.MustCompile(`(\d{1,3})$`)

// placeholderPort returns the port of the placeholder that an edge fills: by the number in the
// field's name, else by the edge's position.
func placeholderPort(l *link) string {
	if m := trailingNumber.FindString(l.field); m != "" {
		return "input_" + m
	}
	return fmt.Sprintf("input_%d", l.index+1)
}
