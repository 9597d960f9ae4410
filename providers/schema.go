package providers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp/syntax"
	"sluice/flow/value"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Limits of a schema. Those of providers are far lower.
const (
	maxSchema = 64 << 10 // bytes of JSON
	// maxParts bounds the number of schemas inside, each counted once per reference: two
	// references to the next level on each of twenty levels make a million.
	maxParts = 5000
)

// schemaName is the URL under which a schema is compiled.
const schemaName = "schema:answer"

var (
	// errOtherDocument and errManyParts refuse schemas that refer to other documents, or
	// that grow too large when references are followed. The messages continue a sentence
	// about the schema.
	errOtherDocument = errors.New("it refers to another document, and none is read")
	errManyParts     = errors.New("it has more than 5,000 parts, each counted as often as it is referred to; leave some out, or refer to fewer")
)

// noLoader prevents a schema from loading files and URLs.
type noLoader struct{}

// Load always fails: a schema must not make the server read a URL or a file.
func (noLoader) Load(string) (any, error) { return nil, errOtherDocument }

// CheckSchema returns an error if a schema cannot be used for structured output. The error
// continues a sentence about the schema: "it is larger than 64 KiB".
func CheckSchema(schema any) error {
	_, err := newForm(schema)
	return err
}

// newForm parses a schema. It returns nil for an empty one.
func newForm(given any) (*form, error) {
	schema, _ := value.AsObject(given)
	if schema.Len() == 0 {
		return nil, nil
	}
	data := value.Encode(schema)
	if len(data) > maxSchema {
		return nil, errors.New("it is larger than 64 KiB")
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, errors.New("it cannot be read")
	}
	switch {
	case !bearable(doc):
		return nil, errHugeNumber
	case places(doc) > maxParts: // the library's time grows with their square
		return nil, errManyParts
	}
	f := &form{schema: schema, text: string(data), object: schema.Get("type") == "object"}
	f.strict, _ = strictSchema(schema)
	return f, f.compile(doc)
}

// compile prepares the form for validating answers, with limits on the work.
func (f *form) compile(doc any) error {
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	compiler.UseRegexpEngine(f.effort.compilePattern)
	err := compiler.AddResource(schemaName, doc)
	if err == nil {
		f.check, err = compiler.Compile(schemaName)
	}
	if err != nil {
		return schemaProblem(err)
	}
	if err := (&survey{path: map[*jsonschema.Schema]bool{}}).walk(f.check); err != nil {
		return err
	}
	f.effort.watch(f.check, map[*jsonschema.Schema]bool{})
	return nil
}

// survey counts the parts of a schema as validation visits them.
type survey struct {
	parts int
	path  map[*jsonschema.Schema]bool // from the root to the current schema, to stop at cycles
}

// walk counts the parts of a compiled schema and rejects one with too many. It follows
// references, as validation does, but not around a cycle.
func (v *survey) walk(s *jsonschema.Schema) error {
	switch v.parts++; {
	case v.parts > maxParts:
		return errManyParts
	case !strings.HasPrefix(s.Location, schemaName):
		return errOtherDocument
	case s.DynamicRef != nil || s.RecursiveRef != nil:
		return errors.New("it uses $dynamicRef or $recursiveRef; use $ref")
	case v.path[s]:
		return nil
	}
	v.path[s] = true
	defer delete(v.path, s)
	for _, part := range parts(s) {
		if err := v.walk(part); err != nil {
			return err
		}
	}
	return nil
}

// places counts the values that could be schemas, regardless of keywords.
func places(v any) int {
	n := 0
	switch v := v.(type) {
	case bool:
		n = 1
	case map[string]any:
		n = 1
		for _, item := range v {
			n += places(item)
		}
	case []any:
		for _, item := range v {
			n += places(item)
		}
	}
	return n
}

// parts returns the schemas that a schema applies to a value or to its children.
func parts(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties,
		s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema}
	for _, several := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems} {
		list = append(list, several...)
	}
	for _, named := range []map[string]*jsonschema.Schema{s.Properties, s.DependentSchemas} {
		for _, part := range named {
			list = append(list, part)
		}
	}
	for _, part := range s.PatternProperties {
		list = append(list, part)
	}
	list = append(list, partsIn(s.Items)...)
	list = append(list, partsIn(s.AdditionalItems)...)
	list = append(list, partsIn(s.AdditionalProperties)...)
	for _, part := range s.Dependencies {
		list = append(list, partsIn(part)...)
	}
	given := list[:0]
	for _, part := range list {
		if part != nil {
			given = append(given, part)
		}
	}
	return given
}

// partsIn returns the schemas in a value, which may be a schema, a list of them or neither.
func partsIn(v any) []*jsonschema.Schema {
	switch v := v.(type) {
	case *jsonschema.Schema:
		return []*jsonschema.Schema{v}
	case []*jsonschema.Schema:
		return v
	}
	return nil
}

// schemaProblem describes what is wrong with a schema and where, without the library's
// prefix.
func schemaProblem(err error) error {
	if e, ok := errors.AsType[*jsonschema.LoadURLError](err); errors.Is(err, errOtherDocument) || ok && errors.Is(e.Err, errOtherDocument) {
		return errOtherDocument
	}
	if outer, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if e, ok := outer.Err.(*jsonschema.ValidationError); ok {
			return errors.New(strings.TrimSuffix(problems(e), "."))
		}
	}
	return errors.New("it is not a JSON Schema")
}

// problems describes the first three errors, each with its position.
func problems(e *jsonschema.ValidationError) string {
	var out []string
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(out) == 3 {
			return
		}
		if len(e.Causes) > 0 {
			for _, cause := range e.Causes {
				walk(cause)
			}
			return
		}
		place := "at the top"
		if len(e.InstanceLocation) > 0 {
			place = "at /" + strings.Join(e.InstanceLocation, "/")
		}
		out = append(out, place+": "+wrongWith(e.ErrorKind))
	}
	walk(e)
	return strings.Join(out, "; ")
}

// quoted returns names in quotes for an error message. They are part of a model's
// answer, so they are cleaned.
func quoted(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = strconv.Quote(name)
	}
	return clean(strings.Join(list, ", "))
}

// wrongWith describes one error. It does not quote a pattern, which may be long.
func wrongWith(what jsonschema.ErrorKind) string {
	if format, ok := what.(*kind.Format); ok && format.Want == "regex" {
		if broken, ok := errors.AsType[*syntax.Error](format.Err); ok {
			return "this is not a regular expression: " + string(broken.Code)
		}
		return clean(format.Err.Error()) // a limit of this package
	}
	switch k := what.(type) {
	case *kind.Type:
		return "wanted " + strings.Join(k.Want, " or ") + ", got " + k.Got
	case *kind.Required:
		return "needs " + quoted(k.Missing)
	case *kind.Dependency:
		return "needs " + quoted(k.Missing) + ", as it has " + quoted([]string{k.Prop})
	case *kind.DependentRequired:
		return "needs " + quoted(k.Missing) + ", as it has " + quoted([]string{k.Prop})
	case *kind.AdditionalProperties:
		return "does not take " + quoted(k.Properties)
	case *kind.PropertyNames:
		return "the name " + quoted([]string{k.Property}) + " is not allowed"
	case *kind.Not:
		return "must not fit the schema of not"
	case *kind.FalseSchema:
		return "must be left out"
	case *kind.Enum:
		return "must be one of " + values(k.Want)
	case *kind.Const:
		return "must be " + values([]any{k.Want})
	case *kind.Minimum:
		return "must be at least " + number(k.Want)
	case *kind.Maximum:
		return "must be at most " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + number(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + number(k.Want)
	case *kind.MinLength:
		return fmt.Sprintf("has %d characters, wanted at least %d", k.Got, k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("has %d characters, wanted at most %d", k.Got, k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("has %d items, wanted at least %d", k.Got, k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("has %d items, wanted at most %d", k.Got, k.Want)
	case *kind.AdditionalItems:
		return fmt.Sprintf("has %d items too many", k.Count)
	case *kind.MinProperties:
		return fmt.Sprintf("has %d properties, wanted at least %d", k.Got, k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("has %d properties, wanted at most %d", k.Got, k.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf("items %d and %d are equal, wanted all different", k.Duplicates[0]+1, k.Duplicates[1]+1)
	case *kind.Pattern:
		return "does not match its pattern"
	case *kind.Format:
		return "is not a valid " + clean(k.Want)
	case *kind.OneOf:
		return "fits several schemas of oneOf, wanted one"
	}
	if path := what.KeywordPath(); len(path) > 0 {
		return "does not fit " + clean(path[0])
	}
	return "does not fit the schema"
}

// values formats at most eight JSON values.
func values(list []any) string {
	var out []string
	for _, v := range list[:min(len(list), 8)] {
		text, err := json.Marshal(v)
		if err != nil {
			text = []byte("…")
		}
		out = append(out, string(text))
	}
	if len(list) > 8 {
		out = append(out, "…")
	}
	return clean(strings.Join(out, ", "))
}

// number formats a bound as a decimal.
func number(n *big.Rat) string {
	f, _ := n.Float64()
	return strconv.FormatFloat(f, 'f', -1, 64)
}
