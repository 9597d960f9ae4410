package companion

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"sluice/flow"
)

// DecodeMembers decodes the members of an object into a struct, and reports all that do not fit. of names what they are members of.
func DecodeMembers(o *flow.Object, into any, of string) (problems []flow.Problem) {
	known := map[string]bool{}
	memberNames(reflect.TypeOf(into).Elem(), known)
	for name, v := range o.All() {
		detail := ""
		if !known[name] {
			detail = "is no member of " + of + flow.Closest(name, known)
		} else {
			one := &flow.Object{}
			one.Set(name, v)
			d := json.NewDecoder(strings.NewReader(string(flow.EncodeJSON(one))))
			d.DisallowUnknownFields()
			detail = decodeProblem(d.Decode(into))
		}
		if detail != "" {
			problems = append(problems, flow.Problem{Pointer: flow.Pointer(name), Code: "invalid", Detail: detail})
		}
	}
	return problems
}

// decodeProblem returns what is wrong with a value that could not be decoded, or "".
func decodeProblem(err error) string {
	if err == nil {
		return ""
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return "must be " + map[reflect.Kind]string{reflect.String: "a text", reflect.Int: "a whole number", reflect.Int64: "a whole number", reflect.Float64: "a number", reflect.Slice: "a list", reflect.Struct: "an object", reflect.Bool: "true or false"}[wrong.Type.Kind()]
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return "has no member " + name
	}
	if strings.HasPrefix(err.Error(), "must be ") { // of a type that reads itself
		return err.Error()
	}
	return "must be an object"
}

// memberNames adds the names that the members of a struct have in JSON.
func memberNames(t reflect.Type, names map[string]bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			memberNames(f.Type, names)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names[name] = true
	}
}
