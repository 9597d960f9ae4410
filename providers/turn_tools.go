package providers

import (
	"regexp"
	"slices"
	"strings"

	"sluice/flow/value"
)

// offered is a tool in the form in which it is sent.
type offered struct {
	Tool
	schema *value.Object
	strict *value.Object // nil: not asked for, or not possible with this schema
}

// toolName matches the names that all providers accept.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// offer prepares tools. lower changes their schemas for the provider.
func offer(tools []Tool, lower *lowering) ([]offered, error) {
	seen := map[string]bool{}
	list := make([]offered, len(tools))
	for i, t := range tools {
		switch {
		case !toolName.MatchString(t.Name):
			return nil, badRequest("The tool %q cannot be offered: a name has at most 64 of the characters a-z, A-Z, 0-9, _ and -.", t.Name)
		case seen[t.Name] || t.Name == answerName:
			return nil, badRequest("Two tools are named %q.", t.Name)
		}
		seen[t.Name] = true
		schema, ok := value.AsObject(t.Parameters)
		if !ok && t.Parameters != nil {
			return nil, badRequest("The parameters of the tool %q are not a JSON Schema.", t.Name)
		}
		list[i] = newOffered(t, schema, lower)
	}
	return list, nil
}

// newOffered prepares one tool.
func newOffered(t Tool, schema *value.Object, lower *lowering) offered {
	o := offered{Tool: t, schema: toolSchema(schema)}
	switch {
	case lower != nil:
		o.schema = lower.schema(o.schema)
	case t.Strict:
		o.strict, _ = strictSchema(o.schema)
	}
	return o
}

// toolSchema returns a schema as that of a tool's arguments.
func toolSchema(given *value.Object) *value.Object {
	schema := given.Clone()
	schema.Delete("$schema")
	schema.Set("type", "object")
	if !schema.Has("properties") {
		schema.Set("properties", &value.Object{})
	}
	return schema
}

// parameters returns the schema to send, and whether the provider is to guarantee it.
func (c *conversation) parameters(o *offered) (schema *value.Object, strict bool) {
	if o.strict != nil && c.use(featStrict) {
		return o.strict, true
	}
	return o.schema, false
}

// choice returns the choice of the tool in OpenAI's words: empty, none, required or the name of a
// tool. canForce is false if a tool cannot be forced, as on Anthropic's wire with thinking.
func (c *conversation) choice(canForce bool) string {
	choice := c.ToolChoice
	if choice == ChoiceNone && c.hidesAnswer() && canForce {
		choice = answerName
	}
	if len(c.offered) == 0 || choice == "" || choice != ChoiceNone && !canForce || !c.use(featChoice) {
		return ""
	}
	return choice
}

// hidesAnswer reports whether the schema of the answer is sent as one more tool, because the
// model does not support both a format and tools.
func (c *conversation) hidesAnswer() bool {
	return c.form != nil && c.agent && len(c.offered) > 0 && c.form.object && !c.can(featFormat)
}

// answerTool is the tool that stands for the schema of the answer; see hidesAnswer.
func (c *conversation) answerTool() *offered {
	return &offered{Tool: Tool{Name: answerName, Description: "Gives the final answer. Call it once and alone, when all other calls are done."}, schema: c.form.toolSchema(), strict: c.form.strict}
}

// tools returns all tools to send.
func (c *conversation) tools() []offered {
	if c.hidesAnswer() {
		return append(slices.Clip(c.offered), *c.answerTool())
	}
	return c.offered
}

// takeAnswer replaces the call of the hidden tool by its text, so that callers never see it. A
// call beside calls of other tools came too early and is dropped. It reports whether it set the
// text.
func (c *conversation) takeAnswer(r *reply) bool {
	if !c.hidesAnswer() {
		return false
	}
	isAnswer := func(i Item) bool { return i.Type == ItemCall && i.Call.Name == answerName }
	at := slices.IndexFunc(r.items, isAnswer)
	if at < 0 {
		return false
	}
	text := r.items[at].Call.Arguments
	r.items = slices.DeleteFunc(r.items, isAnswer)
	if len(callsOf(r.items)) > 0 {
		return false
	}
	r.items = slices.DeleteFunc(r.items, func(i Item) bool {
		return i.Type == ItemText || i.Type == ItemOpaque && i.Opaque.Of == ofNext
	})
	r.items = append(r.items, Item{Type: ItemText, Role: "assistant", Text: text})
	if r.text = text; r.stop != stopLength {
		r.stop = stopEnd
	}
	return true
}

// lowering says which parts of JSON Schema a provider does not accept in a tool. They are left
// out, which only widens what the model may write: arguments are validated anyway.
type lowering struct {
	drop    map[string]bool
	resolve bool // put definitions in the place of references
}

var (
	// Gemini accepts a part of OpenAPI's schema.
	geminiLowering = &lowering{resolve: true, drop: map[string]bool{
		"$schema": true, "$id": true, "$defs": true, "definitions": true, "additionalProperties": true, "patternProperties": true,
		"unevaluatedProperties": true, "propertyNames": true, "const": true, "not": true, "if": true, "then": true, "else": true,
		"dependentSchemas": true, "dependentRequired": true, "contains": true, "prefixItems": true, "exclusiveMinimum": true,
		"exclusiveMaximum": true, "multipleOf": true, "uniqueItems": true, "$comment": true, "examples": true, "default": true}}
	// llama.cpp makes a grammar of the schema, which grows with lengths and patterns.
	llamaLowering = &lowering{drop: map[string]bool{"maxLength": true, "minLength": true, "pattern": true, "format": true}}
)

// lowering returns how schemas of tools are changed for the provider, or nil.
func (p *Preset) lowering() *lowering {
	switch p.Name {
	case nameGemini:
		return geminiLowering
	case nameLlamaCpp:
		return llamaLowering
	}
	return nil
}

// maxLowered bounds how many schemas lowering makes of one: definitions that refer to each other can
// stand for any number.
const maxLowered = 5000

// lowered is a schema that is being lowered.
type lowered struct {
	*lowering
	root *value.Object
	open []string // the definitions that the current place is in
	left int      // schemas that may still be made
}

// schema returns a copy of a schema in the form that the provider accepts.
func (l *lowering) schema(root *value.Object) *value.Object {
	s := lowered{lowering: l, root: root, left: maxLowered}
	v, _ := value.AsObject(s.lower(root))
	return v
}

// lower converts a schema inside root. A definition inside itself accepts anything of its type.
func (l *lowered) lower(v any) any {
	schema, ok := value.AsObject(v)
	if !ok {
		return v
	}
	if l.resolve {
		before := len(l.open)
		defer func() { l.open = l.open[:before] }()
		if l.left--; l.left < 0 {
			return &value.Object{}
		}
		var again bool
		if schema, again = l.resolved(schema); again {
			return typeOf(schema)
		}
	}
	out := &value.Object{}
	for name, v := range schema.All() {
		if l.drop[name] {
			if one := schema.Get("const"); name == "const" && !schema.Has("enum") {
				if text, isText := one.(string); isText {
					out.Set("enum", []any{text})
				}
			}
			continue
		}
		switch name {
		case "properties", "$defs", "definitions":
			v = l.each(v)
		case "items", "anyOf", "oneOf", "allOf", "not":
			v = l.inside(v)
		}
		if name == "oneOf" && l.resolve {
			name = "anyOf"
		}
		out.Set(name, v)
	}
	return out
}

// each converts all schemas of an object, such as properties.
func (l *lowered) each(v any) any {
	schemas, ok := value.AsObject(v)
	if !ok {
		return v
	}
	out := &value.Object{}
	for name, one := range schemas.All() {
		out.Set(name, l.lower(one))
	}
	return out
}

// inside converts a schema or a list of them.
func (l *lowered) inside(v any) any {
	list, ok := v.([]any)
	if !ok {
		return l.lower(v)
	}
	out := make([]any, len(list))
	for i, one := range list {
		out[i] = l.lower(one)
	}
	return out
}

// resolved returns the definition that a schema refers to, with the schema's other members. again
// means that the schema is inside that definition.
func (l *lowered) resolved(schema *value.Object) (_ *value.Object, again bool) {
	for {
		ref, ok := schema.Get("$ref").(string)
		if !ok {
			return schema, false
		}
		again = slices.Contains(l.open, ref)
		l.open = append(l.open, ref)
		rest := schema.Clone()
		rest.Delete("$ref")
		names := strings.Split(strings.TrimPrefix(ref, "#/"), "/")
		target, _ := value.AsObject(value.Get(l.root, names...))
		schema = target.Clone()
		for name, v := range rest.All() {
			schema.Set(name, v)
		}
		if again {
			return schema, true
		}
	}
}

// typeOf returns a schema without everything but its type and description.
func typeOf(schema *value.Object) *value.Object {
	out := &value.Object{}
	for _, name := range []string{"type", "description"} {
		if v, has := schema.Lookup(name); has {
			out.Set(name, v)
		}
	}
	return out
}
