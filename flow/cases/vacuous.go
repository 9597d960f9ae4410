package cases

import (
	"slices"

	"sluice/flow"
	"sluice/flow/pattern"
)

// A check that every run passes says nothing, and a gate that relies on it is open. Such checks are refused when they are saved. Those of
// stored cases stay as they are: refusing these would make the whole file unreadable.

// vacuous returns why every output passes a check, and the member that is to blame; "" if some output fails it.
func (c *Check) vacuous(check checker) (detail, member string) {
	switch c.Kind {
	case Contains, NotContains:
		if slices.Contains(textsOf(c.Value), "") {
			return "must not have an empty text, which every text contains", c.Kind
		}
	case Matches:
		if source, _ := c.Value.(string); pattern.MatchesAll(source) {
			return "matches every text, so the check can never fail; write ^ and $ around what the whole text must be, or + instead of *", c.Kind
		}
	case SchemaCheck:
		if !constrains(c.Value) {
			return "allows every value, so the check can never fail; add a type, required or another rule", c.Kind
		}
	case LimitsCheck:
		o, _ := flow.AsObject(c.Value)
		if !slices.ContainsFunc(limitNames, func(name string) bool { return o.Get(name) != nil }) {
			return "needs at least one of usd, ms and tokens", c.Kind
		}
	case ExprCheck:
		if source, _ := c.Value.(string); check != nil && check(source, variablesOfCase...) == nil { // it is valid without the others
			return "says the same of every run, so the check tells nothing; use outputs, steps or run", c.Kind
		}
		if c.HasMin && c.Min == 0 {
			return "must be more than 0, which every score reaches", "min"
		}
	case Similar:
		if c.HasMin && c.Min == 0 {
			return "must be more than 0, which every text reaches", "min"
		}
	case Judge:
		if c.Against != "" && c.HasMin && c.Min == 0 {
			return "must be more than 0, which an answer reaches that always loses", "min"
		}
	}
	return "", ""
}

// vacuousChecks returns the problems of checks that cannot fail. Pointers start at the object with the member checks.
func vacuousChecks(list []Check, check checker) (problems []flow.Problem) {
	for i := range list {
		if detail, member := list[i].vacuous(check); detail != "" {
			problems = append(problems, flow.Problem{Pointer: flow.Pointer("checks", i, member), Code: "invalid", Detail: detail})
		}
	}
	return problems
}

// vacuous returns why a gate lets everything pass, and the member that is to blame; "" if a report can fail it.
func (g *Gate) vacuous(f *File) (detail, member string) {
	switch {
	case g.PassRate == 0 && !g.NoWorse && g.USD == "" && g.P95 == 0:
		return "must be more than 0, or the gate needs no_worse, usd or p95_ms: as it is, every report passes", "pass_rate"
	case len(g.Tags) > 0 && len(f.Cases) > 0 && len(f.Select(g.Tags)) == 0:
		return "no case has one of these tags and what is expected, so every report passes", "tags"
	}
	return "", ""
}

// Keywords of JSON Schema that say nothing if their value is empty, by kind of their value.
var (
	listed   = []string{"required", "dependentRequired", "dependencies", "dependentSchemas"}
	leasts   = []string{"minLength", "minItems", "minProperties", "minContains"}
	eachs    = []string{"properties", "patternProperties"} // schemas by name
	singles  = []string{"items", "additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems", "propertyNames", "contains"}
	combined = []string{"allOf", "prefixItems"}
	others   = []string{"not", "enum", "const", "pattern", "maxLength", "maxItems", "maxProperties", "maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf", "uniqueItems", "format", "if", "$ref", "$dynamicRef", "contentEncoding", "contentMediaType"}
	allTypes = []string{"null", "boolean", "object", "array", "string", "number"}
)

// constrains reports whether a JSON Schema refuses some value, as far as its keywords say.
func constrains(schema any) bool {
	o, is := flow.AsObject(schema)
	if !is {
		return schema != true
	}
	each := func(v any) []any {
		if inner, is := flow.AsObject(v); is {
			var list []any
			for _, one := range inner.All() {
				list = append(list, one)
			}
			return list
		}
		list, _ := v.([]any)
		return list
	}
	for name, v := range o.All() {
		says := false
		switch {
		case name == "type":
			types, isList := v.([]any)
			says = !isList || slices.ContainsFunc(allTypes, func(t string) bool { return !slices.Contains(types, any(t)) })
		case slices.Contains(listed, name):
			says = len(each(v)) > 0
		case slices.Contains(leasts, name):
			n, _ := flow.Float(v)
			says = n > 0
		case slices.Contains(eachs, name), slices.Contains(combined, name):
			says = slices.ContainsFunc(each(v), constrains)
		case slices.Contains(singles, name):
			says = constrains(v) || name == "contains"
		case name == "anyOf", name == "oneOf":
			says = !slices.ContainsFunc(each(v), func(one any) bool { return !constrains(one) }) || name == "oneOf" && len(each(v)) > 1
		case slices.Contains(others, name):
			says = v != false || name != "uniqueItems"
		}
		if says {
			return true
		}
	}
	return false
}
