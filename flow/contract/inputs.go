package contract

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/pattern"
	"sluice/flow/sorting"
	"sluice/flow/value"
	"sluice/flow/wording"
)

// Input is a parameter of a flow, declared by an input node.
type Input struct {
	Node, Name  string
	Type        flow.Type
	Required    bool
	Default     any
	HasDefault  bool
	Description string
	Example     any
	HasExample  bool
	Min, Max    *float64 // bounds of a number, or of how many characters or items there are
	least, most any      // the same bounds as they are written in a document
	Pattern     string
	Enum        []any
	Accept      []string  // of files: media types such as image/* and extensions such as .pdf; empty: all
	Items       flow.Type // of a list: file, or empty for any items
	Secret      bool      // the text is encrypted and never shown; see SecretInputRef
	Roles       []string  // of messages: the accepted roles; empty: MessageRoles
	Untrusted   bool      // the value comes from outside, also if a program sends it
	Images      bool      // of messages: whether they may contain images
}

// Output is a result of a flow, declared by an output node.
type Output struct {
	Node, Name string
	Reply      bool // its value is the reply to chat clients
}

// InputTypes are the types that an input can have.
var InputTypes = []flow.Type{flow.TypeText, flow.TypeNumber, flow.TypeBoolean, flow.TypeJSON, flow.TypeList, flow.TypeFile, flow.TypeMessages}

// ReservedInput cannot be the name of an input: requests that start a run use it for
// options.
const ReservedInput = "run_options"

// Inputs lists the inputs of a document in the order of its nodes.
func Inputs(d *flow.Document, kinds *flow.Registry) []Input {
	var list []Input
	for i := range d.Nodes {
		if n := &d.Nodes[i]; flow.RoleOf(kinds, n) == flow.RoleInput && !n.Disabled {
			list = append(list, ReadInput(n))
		}
	}
	return list
}

// Outputs lists the outputs of a document in the order of its nodes.
func Outputs(d *flow.Document, kinds *flow.Registry) []Output {
	var list []Output
	for i := range d.Nodes {
		if n := &d.Nodes[i]; flow.RoleOf(kinds, n) == flow.RoleOutput && !n.Disabled {
			list = append(list, Output{Node: n.ID, Name: flow.NameOf(n), Reply: n.Config["reply"] == true})
		}
	}
	return list
}

// ReadInput reads the config of an input node. It ignores malformed fields, which
// Problems reports.
func ReadInput(n *flow.Node) Input {
	in := Input{Node: n.ID, Name: flow.NameOf(n), Type: flow.TypeText}
	if t, ok := n.Config["type"].(string); ok {
		in.Type = flow.Type(t)
	}
	in.Default, in.HasDefault = n.Config["default"]
	in.HasDefault = in.HasDefault && in.Default != nil
	in.Required = !in.HasDefault
	in.Description, _ = n.Config["description"].(string)
	in.Example, in.HasExample = n.Config["example"]
	in.Min, in.Max = bound(n.Config["min"]), bound(n.Config["max"])
	in.least, in.most = n.Config["min"], n.Config["max"]
	in.Pattern, _ = n.Config["pattern"].(string)
	in.Enum, _ = n.Config["enum"].([]any)
	in.Accept = textsIn(n.Config["accept"])
	in.Secret = n.Config["secret"] == true
	in.Untrusted = n.Config["untrusted"] == true
	in.Roles = textsIn(n.Config["roles"])
	in.Images = in.Type == flow.TypeMessages && n.Config["images"] != false
	if items, ok := n.Config["items"].(string); ok && items != string(flow.TypeAny) {
		in.Items = flow.Type(items)
	}
	return in
}

// bounds returns the minimum and the maximum with every digit, or nil for none.
func (in *Input) bounds() (least, most any) {
	if least = in.least; least == nil && in.Min != nil {
		least = *in.Min
	}
	if most = in.most; most == nil && in.Max != nil {
		most = *in.Max
	}
	return least, most
}

// bound returns a minimum or maximum of an input, or nil if v is not a number.
func bound(v any) *float64 {
	if f, ok := flow.Float(v); ok {
		return &f
	}
	return nil
}

// Check validates the values that a caller sent and returns the inputs of a run, with
// defaults filled in. It reports all problems at once. With coerce, texts are parsed as
// the input's type, as forms and the command line need.
//
// The values have the order in which they were sent, followed by the defaults.
func Check(inputs []Input, given *flow.Object, coerce bool) (*flow.Object, []flow.Problem) {
	checked, defaults, known := make(map[string]any, len(inputs)), flow.Object{}, make(map[string]bool, len(inputs))
	var problems []flow.Problem
	work := patternWork()
	for i := range inputs {
		in := &inputs[i]
		known[in.Name] = true
		v := given.Get(in.Name)
		if v == nil {
			if in.Required {
				problems = append(problems, flow.Problem{Pointer: flow.Pointer(in.Name), Code: "required", Detail: fmt.Sprintf("%q is required (%s)", in.Name, in.Type), Node: in.Node})
			} else {
				defaults.Set(in.Name, in.Default)
			}
			continue
		}
		v, bad := in.check(v, coerce, work)
		problems = append(problems, bad...)
		checked[in.Name] = v
	}
	values := &flow.Object{}
	for name := range given.All() {
		if v, ok := checked[name]; ok {
			values.Set(name, v)
		}
	}
	for name, v := range defaults.All() {
		values.Set(name, v)
	}
	names := given.Names()
	sorting.Strings(names)
	for _, name := range names {
		if !known[name] {
			problems = append(problems, flow.Problem{Pointer: flow.Pointer(name), Code: "unknown", Detail: fmt.Sprintf("this flow has no input %q", name) + flow.Closest(name, known)})
		}
	}
	return values, problems
}

// maxReasons bounds the problems that Reasons names.
const maxReasons = 10

// Reasons returns problems with inputs in one line, each with the name of its input.
func Reasons(problems []flow.Problem) string {
	var texts []string
	for _, p := range problems[:min(len(problems), maxReasons)] {
		text := p.Detail
		if name := strings.TrimPrefix(p.Pointer, "/"); name != "" && !strings.Contains(text, strconv.Quote(name)) {
			text = name + ": " + text
		}
		texts = append(texts, text)
	}
	if more := len(problems) - maxReasons; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// maxListed bounds how many allowed values a message lists, and maxListedText their length in
// characters.
const (
	maxListed     = 20
	maxListedText = 1000
)

// listed returns allowed values as JSON, or the first of them.
func listed(values []any) string {
	text := wording.Truncate(string(flow.EncodeJSON(values[:min(len(values), maxListed)])), maxListedText)
	if more := len(values) - maxListed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// check validates one value and returns it converted for the flow. With coerce, a text is
// parsed as the type of the input, because forms send only texts.
func (in *Input) check(v any, coerce bool, work *pattern.Budget) (any, []flow.Problem) {
	fail := func(code, format string, args ...any) []flow.Problem {
		return []flow.Problem{{Pointer: flow.Pointer(in.Name), Code: code, Detail: fmt.Sprintf(format, args...), Node: in.Node}}
	}
	if s, isText := v.(string); isText && coerce {
		parsed, err := in.Type.Parse(s)
		if err != nil && !(in.Type == flow.TypeFile && strings.Contains(s, "://")) { // checkFiles reports invalid URLs
			return v, fail("wrong_type", "%v", err)
		}
		if err == nil {
			v = parsed
		}
	}
	if in.Type == flow.TypeFile {
		return v, in.checkFiles([]any{v})
	}
	if !in.Type.Is(v) {
		return v, fail("wrong_type", "wanted %s, got %s", in.Type, flow.TypeOf(v))
	}
	if _, ok := flow.Float(v); !ok && in.Type == flow.TypeNumber {
		return v, fail("out_of_range", "the number does not fit into 64 bits of floating point")
	}
	list, _ := v.([]any)
	if in.Type == flow.TypeMessages {
		if problems := in.checkMessages(list); len(problems) > 0 {
			return v, problems
		}
	}
	if in.Items == flow.TypeFile {
		if problems := in.checkFiles(list); len(problems) > 0 {
			return v, problems
		}
	}
	if _, _, err := flow.AsValue(v, flow.MaxValueDepth); err != nil {
		return v, fail("too_deep", "nested deeper than %d levels", flow.MaxValueDepth)
	}
	if len(in.Enum) > 0 && !slices.ContainsFunc(in.Enum, func(e any) bool { return flow.EqualValues(e, v) }) {
		return v, fail("not_allowed", "wanted one of %s", listed(in.Enum))
	}
	size, unit := flow.Measure(v)
	least, most := in.bounds()
	if order, ok := value.CompareNumbers(size, least); ok && order < 0 {
		return v, fail("too_small", "wanted at least %s%s, got %s", flow.Text(least), unit, flow.Text(size))
	}
	if order, ok := value.CompareNumbers(size, most); ok && order > 0 {
		return v, fail("too_large", "wanted at most %s%s, got %s", flow.Text(most), unit, flow.Text(size))
	}
	if s, isText := v.(string); isText && in.Pattern != "" {
		if p, err := pattern.Compile(in.Pattern); err == nil { // Problems reports an invalid one
			switch found, err := p.Match(work, s); {
			case err != nil:
				return v, fail("pattern", "the texts are too long to be checked against %s", in.Pattern)
			case !found:
				return v, fail("pattern", "does not match %s", in.Pattern)
			}
		}
	}
	return v, nil
}

// maxPatternWork bounds the work for matching the patterns of all inputs of a request, in
// units of package pattern: about 0.2 seconds on one core, because callers wait for it.
const maxPatternWork = 20_000_000

// patternWork returns the budget for checking the inputs of one request.
func patternWork() *pattern.Budget { return pattern.NewBudget(context.Background(), maxPatternWork) }

// Problems returns the problems of the declaration. Their pointers are relative to the
// config of the input node.
func (in *Input) Problems() []flow.Problem {
	var list []flow.Problem
	add := func(field, code, format string, args ...any) {
		list = append(list, flow.Problem{Pointer: "/" + field, Code: code, Detail: fmt.Sprintf(format, args...)})
	}
	if in.Name == "" {
		add("name", "required", `"name" of %s is missing`, in.Node)
	} else if !flow.InputNamePattern.MatchString(in.Name) {
		add("name", "invalid", "a name begins with a letter or _ and has at most 64 letters, digits, _ and -")
	} else if in.Name == ReservedInput {
		add("name", "reserved", "%q is reserved for the options of a run", ReservedInput)
	}
	if !slices.Contains(InputTypes, in.Type) {
		add("type", "invalid", "wanted one of text, number, boolean, json, list, file, messages")
		return list
	}
	for i, a := range in.Accept {
		if !acceptPattern.MatchString(a) {
			add(fmt.Sprintf("accept/%d", i), "invalid", "%q is neither a media type such as image/* nor an ending such as .pdf", a)
		}
	}
	if in.Items != "" && (in.Items != flow.TypeFile || in.Type != flow.TypeList) {
		add("items", "invalid", "only an input of type list has items; they can be any or file")
	}
	list = append(list, in.messagesProblems()...)
	if in.Secret && in.Type != flow.TypeText {
		add("secret", "invalid", "only an input of type text can be secret")
	}
	for _, field := range []struct {
		name string
		set  bool
	}{{"default", in.HasDefault}, {"example", in.HasExample}, {"enum", len(in.Enum) > 0}} {
		if in.Secret && field.set {
			add(field.name, "invalid", "a secret input cannot have this, because it would be stored in the flow in plain text")
		}
	}
	if len(in.Accept) > 0 && !in.TakesFiles() {
		add("accept", "invalid", "only an input that takes files can say which ones it accepts")
	}
	if in.Pattern != "" {
		if _, err := pattern.Compile(in.Pattern); err != nil {
			add("pattern", "invalid", "%s", patternFault(err))
		}
	}
	if order, ok := value.CompareNumbers(in.bounds()); ok && order > 0 {
		add("min", "invalid", "min is larger than max")
	}
	counts := func(b *float64) bool {
		return b == nil || in.Type == flow.TypeNumber || *b >= 0 && *b == math.Trunc(*b)
	}
	if !counts(in.Min) {
		add("min", "invalid", "a number of characters or items is a whole number from 0 on")
	}
	if !counts(in.Max) {
		add("max", "invalid", "a number of characters or items is a whole number from 0 on")
	}
	for i, e := range in.Enum {
		if !in.Type.Is(e) {
			add(fmt.Sprintf("enum/%d", i), "wrong_type", "wanted %s, got %s", in.Type, flow.TypeOf(e))
		}
	}
	if in.HasDefault {
		_, bad := in.check(in.Default, false, patternWork())
		for _, p := range bad {
			add("default", p.Code, "the default is refused by the input itself: %s", p.Detail)
		}
	}
	return list
}

// patternFault describes why a pattern cannot be used.
func patternFault(err error) string {
	if _, invalid := errors.AsType[*syntax.Error](err); invalid {
		return "this is not a regular expression (RE2)"
	}
	return "the pattern " + err.Error()
}

// JSONSchema returns the JSON Schema of the input's value.
func (in *Input) JSONSchema() map[string]any {
	s := map[string]any{}
	if t := map[flow.Type]string{flow.TypeText: "string", flow.TypeNumber: "number", flow.TypeBoolean: "boolean", flow.TypeList: "array", flow.TypeMessages: "array"}[in.Type]; t != "" {
		s["type"] = t
	}
	switch {
	case in.Items == flow.TypeFile:
		items := map[string]any{}
		in.describeFile(items)
		s["items"] = items
	case in.Type == flow.TypeMessages:
		in.messagesSchema(s)
	case in.Type == flow.TypeList:
		s["items"] = map[string]any{}
	case in.Type == flow.TypeFile:
		in.describeFile(s)
	}
	set := func(name string, v any, ok bool) {
		if ok {
			s[name] = v
		}
	}
	description := strings.TrimSpace(in.Description + " " + in.acceptSentence())
	set("description", description, description != "")
	set("default", in.Default, in.HasDefault)
	set("examples", []any{in.Example}, in.HasExample)
	set("enum", in.Enum, len(in.Enum) > 0)
	if in.Secret {
		s["format"], s["writeOnly"] = "password", true
	}
	set("pattern", in.Pattern, in.Pattern != "" && (in.Type == flow.TypeText || in.Type == flow.TypeJSON))
	bounds := map[flow.Type][]string{flow.TypeText: {"Length"}, flow.TypeList: {"Items"}, flow.TypeMessages: {"Items"}, flow.TypeNumber: {"imum"}, flow.TypeJSON: {"Length", "Items", "imum"}}
	least, most := in.bounds()
	for _, suffix := range bounds[in.Type] {
		set("min"+suffix, least, in.Min != nil)
		set("max"+suffix, most, in.Max != nil)
	}
	return s
}

// Schema returns the JSON Schema of the object that holds all inputs of a flow. Its properties, a
// *flow.Object, have the order of the inputs.
func Schema(inputs []Input) map[string]any {
	properties, required := &flow.Object{}, []string{}
	for i := range inputs {
		properties.Set(inputs[i].Name, inputs[i].JSONSchema())
		if inputs[i].Required {
			required = append(required, inputs[i].Name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}
