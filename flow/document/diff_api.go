package document

import (
	"fmt"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/sorting"
	"sluice/flow/value"
)

// api adds one change of the contract with callers. The sentence begins with the input or output.
func (c *comparison) api(role flow.Role, change, name string, breaking bool, format string, args ...any) {
	what := "input"
	if role == flow.RoleOutput {
		what = "output"
	}
	sentence := fmt.Sprintf("The %s %q %s.", what, name, fmt.Sprintf(format, args...))
	c.diff.API = append(c.diff.API, APIChange{Change: change, Role: role, Name: name, Breaking: breaking, Sentence: sentence})
}

// inputs compares the inputs. A removed input breaks callers, because unknown inputs are
// rejected.
func (c *comparison) inputs() {
	before, after := inputsByName(c.old, c.kinds), inputsByName(c.now, c.kinds)
	for _, name := range sorting.Keys(before) {
		in, still := after[name]
		if !still {
			c.api(flow.RoleInput, ChangeRemoved, name, true, "was removed: requests that send it are rejected")
			continue
		}
		c.input(before[name], in)
	}
	for _, name := range sorting.Keys(after) {
		switch _, was := before[name]; {
		case was:
		case after[name].Required:
			c.api(flow.RoleInput, ChangeAdded, name, true, "was added and is required: requests without it are rejected")
		default:
			c.api(flow.RoleInput, ChangeAdded, name, false, "was added and is optional")
		}
	}
}

// inputsByName indexes the inputs of a document by the name that callers use.
func inputsByName(d *flow.Document, kinds *flow.Registry) map[string]contract.Input {
	m := map[string]contract.Input{}
	for _, in := range contract.Inputs(d, kinds) {
		m[in.Name] = in
	}
	return m
}

// input compares an input that both documents have.
func (c *comparison) input(was, in contract.Input) {
	changed := func(breaking bool, format string, args ...any) {
		c.api(flow.RoleInput, ChangeChanged, in.Name, breaking, format, args...)
	}
	if was.Type != in.Type {
		changed(true, "changed its type from %s to %s", was.Type, in.Type)
	}
	switch {
	case in.Required && !was.Required:
		changed(true, "became required: requests without it are rejected")
	case was.Required && !in.Required:
		changed(false, "became optional")
	case was.HasDefault && in.HasDefault && !sameValue(was.Default, in.Default):
		changed(false, "has a new default")
	}
	if was.Type == in.Type {
		if stricter := narrowed(was, in); len(stricter) > 0 {
			changed(true, "accepts fewer values (%s)", strings.Join(stricter, ", "))
		}
	}
}

// narrowed returns the names of the rules by which an input may reject values that it accepted
// before.
func narrowed(was, in contract.Input) (rules []string) {
	rule := func(stricter bool, name string) {
		if stricter {
			rules = append(rules, name)
		}
	}
	rule(in.Min != nil && (was.Min == nil || *in.Min > *was.Min), "minimum")
	rule(in.Max != nil && (was.Max == nil || *in.Max < *was.Max), "maximum")
	rule(in.Pattern != "" && in.Pattern != was.Pattern, "pattern")
	rule(in.Enum != nil && (was.Enum == nil || !containsAll(in.Enum, was.Enum)), "allowed values")
	rule(len(in.Accept) > 0 && (len(was.Accept) == 0 || !containsAll(in.Accept, was.Accept)), "accepted files")
	rule(len(in.Roles) > 0 && (len(was.Roles) == 0 || !containsAll(in.Roles, was.Roles)), "roles")
	rule(was.Images && !in.Images, "pictures")
	return rules
}

// containsAll reports whether a list has every item of another.
func containsAll[T any](list, items []T) bool {
	has := make(map[string]bool, len(list))
	for _, item := range list {
		has[string(value.Canonical(item))] = true
	}
	return !slices.ContainsFunc(items, func(item T) bool { return !has[string(value.Canonical(item))] })
}

// outputs compares the outputs. A new output is safe; a missing one breaks clients.
func (c *comparison) outputs() {
	before, after := outputsByName(c.old, c.kinds), outputsByName(c.now, c.kinds)
	for _, name := range sorting.Keys(before) {
		out, still := after[name]
		if !still {
			c.api(flow.RoleOutput, ChangeRemoved, name, true, "was removed: clients reading it will break")
			continue
		}
		c.output(before[name], out)
	}
	for _, name := range sorting.Keys(after) {
		if _, was := before[name]; !was {
			c.api(flow.RoleOutput, ChangeAdded, name, false, "was added")
		}
	}
}

// outputsByName returns the outputs of a document by their names.
func outputsByName(d *flow.Document, kinds *flow.Registry) map[string]Output {
	m := map[string]Output{}
	for _, o := range Outputs(d, kinds) {
		m[o.Name] = o
	}
	return m
}

// output compares an output that both documents have.
func (c *comparison) output(was, out Output) {
	changed := func(breaking bool, format string, args ...any) {
		c.api(flow.RoleOutput, ChangeChanged, out.Name, breaking, format, args...)
	}
	if !out.fed { // in a draft that cannot be published yet
		return
	}
	at, why := wider(was.Schema, out.Schema, "")
	switch {
	case was.Type != out.Type && why != "":
		changed(true, "changed its type from %s to %s", was.Type, out.Type)
	case was.Type != out.Type && len(out.Schema) > 0:
		changed(false, "now always has the type %s", out.Type)
	case why != "" && at != "":
		changed(true, "returns different values: %s %s", at, why)
	case why != "":
		changed(true, "returns different values: it %s", why)
	}
	switch {
	case out.Optional && !was.Optional:
		changed(true, "can be missing when its branch is not taken")
	case was.Optional && !out.Optional:
		changed(false, "is always present now")
	}
}
