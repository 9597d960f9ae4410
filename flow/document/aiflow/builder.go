package aiflow

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
)

// builder makes one node of one source.
type builder struct {
	c    *conversion
	s    *source
	kind *flow.Kind
	n    *flow.Node
	used map[string]bool // settings of the source that have found a place
	raw  map[string]bool // config fields that are templates already
}

// fields takes over the settings that the rule knows.
func (b *builder) fields() {
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
		if b.put(f, v) {
			b.used[p.from] = true
		}
	}
	if r.provider != "" {
		b.model(r)
	}
	if address := flow.Text(b.n.Config["url"]); address != "" && strings.Contains(harmlessAddress(address), "=%E2%80%A6") {
		b.changed("The address of %s has a secret in it, which everybody who sees the flow can read. Move it to a header.", b.s.title())
	}
}

// put writes a value into a field, in the form that the field takes.
func (b *builder) put(f *flow.Field, v any) bool {
	fitted, ok := fit(f, v)
	if ok {
		b.n.Config[f.Name] = fitted
	}
	return ok
}

// model writes the model as provider/model.
func (b *builder) model(r *rule) {
	name := flow.Text(b.n.Config["model"])
	if name == "" && r.model != "" {
		name = r.model
		b.changed("%s named no model, so %s/%s is set. Choose another one if you like.", b.s.title(), r.provider, name)
	}
	delete(b.n.Config, "model")
	if name != "" {
		b.n.Config["model"] = r.provider + "/" + strings.TrimPrefix(name, r.provider+"/")
	}
}

// fit brings a value into the form of a field. What is said wrongly is left to
// the person, not guessed.
func fit(f *flow.Field, v any) (any, bool) {
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

// namedTexts reads headers as files have them: an object, a list of names and
// values, JSON of these, or one "name: value" a line.
func namedTexts(v any) (any, bool) {
	out := map[string]any{}
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
			out[name] = strings.TrimSpace(value)
		}
	case map[string]any:
		for name, value := range v {
			out[name] = flow.Text(value)
		}
	case []any:
		for _, item := range v {
			m, _ := item.(map[string]any)
			name := flow.Text(m["name"]) + flow.Text(m["key"])
			if name == "" {
				return nil, false
			}
			out[name] = flow.Text(m["value"])
		}
	default:
		return nil, false
	}
	return out, true
}

// escape keeps {{ in the texts of a file what it was there: two characters.
func (b *builder) escape() {
	k := b.c.kinds.For(b.n)
	for i := range k.Fields {
		f := &k.Fields[i]
		if v, set := b.n.Config[f.Name]; set && f.Template && !b.raw[f.Name] {
			b.n.Config[f.Name] = escaped(v)
		}
	}
}

// escaped protects braces in imported texts, which the other format takes literally and
// Sluice would read as names of inputs.
func escaped(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "{{", `\{{`)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = escaped(v[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name, item := range v {
			out[name] = escaped(item)
		}
		return out
	}
	return v
}

// changed reports a name or text that differs from the file, which callers may notice.
func (b *builder) changed(format string, args ...any) {
	b.c.say(Note{Sort: Changed, Source: b.s.name, Node: b.n.ID, Text: fmt.Sprintf(format, args...)})
}

// leftovers tells of settings that found no place, by name alone.
func (b *builder) leftovers() {
	var names []string
	for _, name := range sorted(b.s.values) {
		if !b.used[name] {
			names = append(names, cleanLabel(name))
		}
	}
	if len(names) > 0 {
		b.c.say(Note{Sort: Left, Source: b.s.name, Node: b.n.ID, Text: fmt.Sprintf("%s: these settings have no place here: %s.", b.s.title(), strings.Join(names, ", "))})
	}
}

// take returns the first setting of these names.
func (b *builder) take(names ...string) any {
	for _, name := range names {
		if v, set := b.s.values[name]; set {
			b.used[name] = true
			return v
		}
	}
	return nil
}

// describeInput takes over the name, default and description of an input. A name that is
// invalid here or taken is changed and reported, because callers must change with it.
func describeInput(b *builder) {
	wanted := flow.Text(b.take("api_input_name"))
	name := freeName(wanted, "input", b.c.inputs)
	if name != wanted {
		b.changed("The input “%s” is called “%s” here: names have letters, digits, _ and -, and are there once.", cleanLabel(wanted), name)
	}
	b.n.Config["name"], b.n.Config["type"] = name, "text"
	if v := b.take("default_value", "defaultValue", "api_input_default_value", "default", "value", "inputText"); v != nil {
		b.n.Config["default"] = flow.Text(v)
	}
	if v := b.take("description", "api_input_description"); v != nil {
		b.n.Config["description"] = flow.Text(v)
	}
}

// nameOutput gives an output a valid, unused name. The first output with a name decides what
// chosen writes for it in webhooks. A node without a name only showed a result.
func nameOutput(b *builder) {
	wanted := flow.Text(b.take("api_output_name"))
	name := freeName(wanted, "output", b.c.outputs)
	if b.c.renamed[wanted] == "" {
		b.c.renamed[wanted] = name
	}
	if wanted == "" {
		b.changed("%s only showed a result; the result is the output “%s” now.", b.s.title(), name)
	} else if name != wanted {
		b.changed("The output “%s” is called “%s” here: names have letters, digits, _ and -, and are there once.", cleanLabel(wanted), name)
	}
	b.n.Config["name"] = name
}

// signatureHeader carries the signature of AI-Flow's webhooks.
const signatureHeader = "AI_FLOW_SIGNATURE"

// signWebhook converts the signature and the chosen outputs of a webhook. Receivers find the
// signature in the same header as before. The outputs have their old names until chosen.
func signWebhook(b *builder) {
	if v := b.take("signature", "webhook_signature", "signing_secret", "secret"); v != nil {
		b.n.Config["signature"], b.n.Config["signature_header"] = flow.Text(v), signatureHeader
	}
	if chosen, _ := b.take("outputs", "selected_outputs", "api_outputs").([]any); len(chosen) > 0 {
		b.n.Config["outputs"] = chosen
	}
}

// morePictures gathers image_url, image_url_2 and so on, in one list.
func morePictures(b *builder) {
	list, _ := b.n.Config["images"].([]any)
	for _, name := range sorted(b.s.values) {
		if strings.HasPrefix(name, "image_url") && !b.used[name] {
			if more, isList := b.take(name).([]any); isList {
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

// deepest is how deep a value of a hosted model may nest: the document around
// it nests too, and has a limit.
const deepest = 32

// hostModel takes over the generated settings of a model as they are.
func hostModel(b *builder) {
	model, version, _ := strings.Cut(strings.TrimSpace(flow.Text(b.take("model"))), ":")
	if model != "" {
		b.n.Config["model"] = model
	}
	if version != "" {
		b.n.Config["version"] = version
	}
	for _, name := range sorted(b.s.values) {
		known := len(b.s.declared) == 0 || b.s.declared[name]
		if known && name != "model" && depth(b.s.values[name]) <= deepest {
			b.n.Config["input."+name] = b.take(name)
		}
	}
}

// depth is how deep lists and objects nest in a value.
func depth(v any) int {
	most := 0
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			most = max(most, depth(item))
		}
	case map[string]any:
		for _, item := range v {
			most = max(most, depth(item))
		}
	default:
		return 0
	}
	return most + 1
}

// mergePlace matches a placeholder for an input, such as ${input-1}.
var mergePlace = regexp.MustCompile(`\$\{input-(\d{1,3})\}`)

// mergePrompt writes ${input-1} as {{input_1}}.
func mergePrompt(b *builder) {
	prompt := flow.Text(b.take("prompt", "text", "inputText"))
	var out strings.Builder
	spaced, done := false, 0
	for _, at := range mergePlace.FindAllStringSubmatchIndex(prompt, -1) {
		literal := prompt[done:at[0]]
		out.WriteString(escaped(literal).(string))
		if joins(literal) {
			out.WriteByte(' ')
			spaced = true
		}
		out.WriteString("{{input_" + prompt[at[2]:at[3]] + "}}")
		done = at[1]
	}
	out.WriteString(escaped(prompt[done:]).(string))
	b.n.Config["template"] = out.String()
	b.raw = map[string]bool{"template": true}
	if spaced {
		b.changed("%s had a { or \\ right before a value; a space stands between now.", b.s.title())
	}
}

// joins reports whether the end of a text would be read as part of the place that
// follows: a single { or a backslash.
func joins(literal string) bool {
	braces := len(literal) - len(strings.TrimRight(literal, "{"))
	return braces%2 == 1 || strings.HasSuffix(literal, `\`)
}

// mergeField matches the number at the end of a field's name: that of its placeholder.
var mergeField = regexp.MustCompile(`(\d{1,3})$`)

// mergePort is the place that an edge fills: by its name or its turn.
func mergePort(l *link) string {
	if m := mergeField.FindString(l.field); m != "" {
		return "input_" + m
	}
	return fmt.Sprintf("input_%d", l.place+1)
}
