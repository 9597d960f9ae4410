package hosted

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"sluice/flow/pattern"
	"sluice/flow/sorting"
	"sluice/flow/wording"
)

// maxProblems bounds the problems that Check reports for one field.
const maxProblems = 3

// Problem is an invalid value of a field.
type Problem struct{ Field, Detail string }

// Check returns the problems of the values that were set. A missing value is not a problem,
// because an edge may provide it; see Missing. null counts as missing. Files and secrets may
// have any form: the caller replaces them before they are sent.
func (f *Form) Check(input map[string]any) []Problem {
	var out []Problem
	for _, name := range sorting.Keys(input) {
		value := input[name]
		i := slices.IndexFunc(f.Fields, func(field Field) bool { return field.Name == name })
		if i < 0 && f.Open {
			continue
		}
		if i < 0 {
			out = append(out, Problem{name, f.unknown(name)})
			continue
		}
		if value == nil {
			continue
		}
		for _, detail := range f.Fields[i].check(value) {
			out = append(out, Problem{name, detail})
		}
	}
	return out
}

// Missing returns a problem for each required field that is not set.
func (f *Form) Missing(input map[string]any) []Problem {
	var out []Problem
	for _, field := range f.Fields {
		if field.Required && input[field.Name] == nil {
			out = append(out, Problem{field.Name, "This input must be set."})
		}
	}
	return out
}

// unknown returns the sentence about an input that the model does not have. It suggests
// the nearest name if that is at most two edits away.
func (f *Form) unknown(name string) string {
	best, distance := "", 3 // more than two letters apart is another word
	for _, field := range f.Fields {
		if d := wording.Distance(strings.ToLower(name), strings.ToLower(field.Name)); d < distance {
			best, distance = field.Name, d
		}
	}
	if best != "" {
		return "The model has no input of this name. Did you mean " + best + "?"
	}
	return "The model has no input of this name."
}

// check returns sentences about what is wrong with a value, or nil. Files and secrets
// are references of Sluice, which the schema does not describe, so they are checked
// here; all other values are validated by the schema.
func (f *Field) check(value any) []string {
	switch f.Widget {
	case WidgetFile:
		return fileProblem(value)
	case WidgetFiles:
		return f.checkFiles(value)
	case WidgetSecret:
		switch value.(type) {
		case string, map[string]any:
			return nil
		}
		return []string{"This must be a credential."}
	}
	return problems(f.Schema, value)
}

// scheme matches the scheme of a URL: https, data, or any other that a model supports. A
// text without one would fail after the prediction was started and billed.
var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:.`)

// fileProblem returns why a value is not a file, or nil. It accepts a URL, and a reference
// to a stored file, which the caller replaces.
func fileProblem(value any) []string {
	switch v := value.(type) {
	case map[string]any:
		return nil
	case string:
		if scheme.MatchString(strings.TrimSpace(v)) {
			return nil
		}
	}
	return []string{"This must be a file or its URL."}
}

// checkFiles checks that a value is a list of files or URLs, and that it has at most
// MaxItems.
func (f *Field) checkFiles(value any) []string {
	list, ok := value.([]any)
	if !ok {
		return []string{"This must be a list of files or URLs."}
	}
	if f.MaxItems != nil && len(list) > *f.MaxItems {
		return []string{"This takes at most " + strconv.Itoa(*f.MaxItems) + " files."}
	}
	for i, v := range list {
		if fileProblem(v) != nil {
			return []string{"Item " + strconv.Itoa(i+1) + " must be a file or its URL."}
		}
	}
	return nil
}

// valid reports whether a value matches a resolved schema.
func valid(schema map[string]any, value any) bool { return problems(schema, value) == nil }

// noLoader keeps the compiler from loading other schemas. All references are resolved.
type noLoader struct{}

// Load always fails. Schemas come from the authors of models, so a reference to a URL
// or a file must not be followed.
func (noLoader) Load(string) (any, error) { return nil, errors.New("schemas load nothing") }

// problems validates a value. A schema that does not compile accepts everything, and the
// platform validates the value instead.
func problems(schema map[string]any, value any) []string {
	if countValues(value, maxCheck)*countValues(schema, maxCheck) > maxCheck {
		return []string{"This has too many values to be checked against the schema of the model."}
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	work := pattern.NewBudget(context.Background(), maxPatternWork)
	c.UseRegexpEngine(func(source string) (jsonschema.Regexp, error) {
		p, err := pattern.Compile(source)
		return &fieldPattern{p, source, work}, err
	})
	if c.AddResource("field:input", nestedSchema(schema)) != nil {
		return nil
	}
	compiled, err := c.Compile("field:input")
	if err != nil {
		return nil
	}
	failure, ok := errors.AsType[*jsonschema.ValidationError](compiled.Validate(value))
	if work.Spend(0) != nil {
		return []string{"This text is too long to be checked against the pattern of the model."}
	}
	if !ok {
		return nil
	}
	return describe(failure, nil)
}

// Limits of the work for checking one value. Schemas come from the owner of a model, values
// from callers.
const (
	maxCheck       = 2_000_000  // values times parts of the schema: each part is applied to a value at most once
	maxPatternWork = 20_000_000 // units of package pattern
)

// countValues counts a value and all values in it, up to most.
func countValues(v any, most int) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if n >= most {
				break
			}
			n += countValues(item, most-n)
		}
	case map[string]any:
		for _, item := range v {
			if n >= most {
				break
			}
			n += countValues(item, most-n)
		}
	}
	return n
}

// fieldPattern is a pattern of a schema with the budget of one check. Once that is used up,
// its answers do not count.
type fieldPattern struct {
	*pattern.Pattern
	source string
	work   *pattern.Budget
}

// String implements jsonschema.Regexp.
func (p *fieldPattern) String() string { return p.source }

// MatchString implements jsonschema.Regexp.
func (p *fieldPattern) MatchString(text string) bool {
	found, _ := p.Match(p.work, text) // problems looks at the budget
	return found
}

// nestedSchema converts a schema to standard JSON Schema. Inside lists and
// objects, a nullable value may be null and a file is given by its URL. The form handles
// both for the field itself.
func nestedSchema(schema map[string]any) map[string]any {
	out := maps.Clone(schema)
	for _, key := range []string{"items", "additionalProperties", "not"} {
		if s, ok := schema[key].(map[string]any); ok {
			out[key] = strictSchema(s)
		}
	}
	if props, ok := schema["properties"].(map[string]any); ok {
		out["properties"] = mapSchemas(props)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := schema[key].([]any); ok {
			out[key] = slices.Clone(list)
			for i, s := range list {
				if s, ok := s.(map[string]any); ok {
					out[key].([]any)[i] = nestedSchema(s) // of the same value
				}
			}
		}
	}
	return out
}

// mapSchemas applies strictSchema to every property. Values that are not schemas stay
// as they are.
func mapSchemas(props map[string]any) map[string]any {
	out := make(map[string]any, len(props))
	for name, s := range props {
		out[name] = s
		if s, ok := s.(map[string]any); ok {
			out[name] = strictSchema(s)
		}
	}
	return out
}

// strictSchema returns the schema of a nested value.
func strictSchema(schema map[string]any) map[string]any {
	out := nestedSchema(schema)
	if schema["format"] == "uri" && schema["type"] == "string" && schema["pattern"] == nil {
		out["pattern"] = scheme.String()
	}
	if nullable, _ := schema["nullable"].(bool); !nullable {
		return out
	}
	switch t := schema["type"].(type) {
	case string:
		out["type"] = []any{t, "null"}
	case []any:
		out["type"] = append(slices.Clip(t), "null")
	}
	if list, ok := schema["enum"].([]any); ok {
		out["enum"] = append(slices.Clip(list), nil)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := out[key].([]any); ok {
			out[key] = append(list, map[string]any{"type": "null"})
		}
	}
	return out
}

// describe appends sentences for the leaves of a validation error, without duplicates
// and at most maxProblems. Below anyOf and oneOf it does not descend: the causes are
// about alternatives, and it is unknown which one was meant.
func describe(e *jsonschema.ValidationError, out []string) []string {
	_, anyOf := e.ErrorKind.(*kind.AnyOf)
	_, oneOf := e.ErrorKind.(*kind.OneOf)
	if len(e.Causes) == 0 || anyOf || oneOf { // it is unknown which alternative was meant
		if text := place(e.InstanceLocation) + sentence(e.ErrorKind); !slices.Contains(out, text) && len(out) < maxProblems {
			out = append(out, text)
		}
		return out
	}
	for _, cause := range e.Causes {
		out = describe(cause, out)
	}
	return out
}

// place describes the location of a problem inside a list or an object.
func place(location []string) string {
	var b strings.Builder
	for _, part := range location {
		if n, err := strconv.Atoi(part); err == nil {
			fmt.Fprintf(&b, "item %d, ", n+1)
		} else {
			b.WriteString(oneLine(part, 60) + ", ")
		}
	}
	text := strings.TrimSuffix(b.String(), ", ")
	if text == "" {
		return ""
	}
	return wording.Capitalize(text) + ": "
}

// sentence describes a violated keyword of a schema to users.
func sentence(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "This must be " + typeWords(k.Want) + "."
	case *kind.Enum:
		return "This must be one of " + listed(k.Want) + "."
	case *kind.Minimum:
		return "This must be at least " + plain(k.Want) + "."
	case *kind.Maximum:
		return "This must be at most " + plain(k.Want) + "."
	case *kind.ExclusiveMinimum:
		return "This must be more than " + plain(k.Want) + "."
	case *kind.ExclusiveMaximum:
		return "This must be less than " + plain(k.Want) + "."
	case *kind.MinLength:
		return fmt.Sprintf("This must have at least %d characters.", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("This must have at most %d characters.", k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("This must have at least %d items.", k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("This must have at most %d items.", k.Want)
	case *kind.MinProperties:
		return fmt.Sprintf("This must have at least %d entries.", k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("This must have at most %d entries.", k.Want)
	case *kind.Required:
		return "This must have " + namesOf(k.Missing) + "."
	case *kind.AdditionalProperties:
		return "This must not have " + namesOf(k.Properties) + "."
	case *kind.Pattern:
		if k.Want == scheme.String() {
			return "This must be a file or its URL."
		}
		return "This must match the pattern " + oneLine(k.Want, 100) + "."
	case *kind.Const:
		return "This must be " + listed([]any{k.Want}) + "."
	case *kind.MultipleOf:
		return "This must be a multiple of " + plain(k.Want) + "."
	case *kind.UniqueItems:
		return fmt.Sprintf("Items %d and %d are equal. Each may be given once.", k.Duplicates[0]+1, k.Duplicates[1]+1)
	case *kind.Format:
		return "This is not a valid " + oneLine(k.Want, 40) + "."
	case *kind.Dependency:
		return "This must have " + namesOf(k.Missing) + " too."
	case *kind.DependentRequired:
		return "This must have " + namesOf(k.Missing) + " too."
	case *kind.FalseSchema:
		return "This must be left out."
	case *kind.AnyOf, *kind.OneOf:
		return "This matches no form that the model accepts."
	}
	return "The model does not take this value. See the model's page for what it takes."
}

// typeWord names the types of JSON Schema in sentences about values.
var typeWord = map[string]string{
	"string": "a text", "number": "a number", "integer": "a whole number", "boolean": "true or false",
	"array": "a list", "object": "an object", "null": "nothing",
}

// namesOf lists properties of an object, at most eight.
func namesOf(list []string) string {
	values := make([]any, 0, len(list))
	for _, name := range slices.Sorted(slices.Values(list)) {
		values = append(values, name)
	}
	return listed(values)
}

// typeWords joins the types that a value may have, as in "a text or a number". null is
// left out, unless it is the only one.
func typeWords(want []string) string {
	out := make([]string, 0, len(want))
	for _, w := range want {
		if w != "null" || len(want) == 1 { // a nullable value can just be left out
			out = append(out, typeWord[w])
		}
	}
	return strings.Join(out, " or ")
}

// listed joins values for a sentence, at most eight of them.
func listed(values []any) string {
	var out []string
	for _, v := range values[:min(len(values), 8)] {
		out = append(out, oneLine(fmt.Sprint(v), 40))
	}
	if len(values) > 8 {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}

// plain formats a limit without an exponent, since 1e+06 is hard to read in a sentence.
func plain(r *big.Rat) string {
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'f', -1, 64)
}
