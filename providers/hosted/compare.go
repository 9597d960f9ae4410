package hosted

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Change is one difference between two versions of a model.
type Change struct {
	Field    string // name of the input, or of the output's property; empty: the output as a whole
	Output   bool
	Breaking bool   // inputs or connections that worked could fail
	Sentence string // shown to users
}

// Changes are the differences between two versions of a model.
type Changes struct {
	List     []Change
	Added    []string // inputs
	Removed  []string
	Changed  []string
	Breaking bool // at least one change is breaking
}

// Compare returns the changes in inputs and outputs that an upgrade from an older to a newer
// version brings to a node.
func Compare(older, newer *Model) Changes {
	a, b := NewForm(older), NewForm(newer)
	var c Changes
	if b.Incompatible != "" && a.Incompatible == "" {
		c.note(Change{Breaking: true, Sentence: "The new version cannot be used. " + b.Incompatible})
		return c
	}
	if b.Open && !a.Open && a.Incompatible == "" {
		c.note(Change{Breaking: true, Sentence: "The new version has no input schema, so its inputs are no longer checked."})
		return c
	}
	before, after := byName(a), byName(b)
	for _, f := range b.Fields {
		if old, ok := before[f.Name]; ok {
			c.compareField(old, f)
		} else {
			c.add(f)
		}
	}
	for _, f := range a.Fields {
		if _, ok := after[f.Name]; !ok {
			c.Removed = append(c.Removed, f.Name)
			c.note(Change{Field: f.Name, Breaking: true, Sentence: "Input " + f.Name + " is gone."})
		}
	}
	c.compareOutput(a.Output, b.Output)
	return c
}

// byName returns the fields of a form by name, which is unique in it.
func byName(f *Form) map[string]Field {
	out := make(map[string]Field, len(f.Fields))
	for _, field := range f.Fields {
		out[field.Name] = field
	}
	return out
}

// note appends a change. A single breaking change makes the whole upgrade breaking.
func (c *Changes) note(change Change) {
	c.List = append(c.List, change)
	c.Breaking = c.Breaking || change.Breaking
}

// add records an input that only the new version has. It breaks existing nodes if it is
// required.
func (c *Changes) add(f Field) {
	c.Added = append(c.Added, f.Name)
	if f.Required {
		c.note(Change{Field: f.Name, Breaking: true, Sentence: "Input " + f.Name + " is new and must be set."})
		return
	}
	c.note(Change{Field: f.Name, Sentence: "Input " + f.Name + " is new."})
}

// compareField records the differences of an input that both versions have. A
// difference is breaking if the new version may refuse a value that the old one
// accepted. A new default is not, though results may differ.
func (c *Changes) compareField(a, b Field) {
	n := len(c.List)
	change := func(breaking bool, format string, args ...any) {
		c.note(Change{Field: b.Name, Breaking: breaking, Sentence: "Input " + b.Name + " " + fmt.Sprintf(format, args...) + "."})
	}
	if describeType(a) != describeType(b) {
		change(true, "was %s and is now %s", describeType(a), describeType(b))
	} else {
		compareOptions(a, b, change)
		compareBounds(a, b, change)
		if otherKeywords(a) != otherKeywords(b) && len(c.List) == n {
			change(true, "is checked by another rule")
		}
	}
	switch {
	case b.Required && !a.Required:
		change(true, "must now be set")
	case a.Required && !b.Required:
		change(false, "need not be set any more")
	}
	if !sameValue(a.Default, b.Default) {
		change(false, "has the default %s instead of %s", formatDefault(b.Default), formatDefault(a.Default))
	}
	if len(c.List) > n {
		c.Changed = append(c.Changed, b.Name)
	}
}

// describeType describes the type of value that a field accepts, such as "a list of files".
func describeType(f Field) string {
	switch f.Widget {
	case WidgetSelect:
		return "a choice"
	case WidgetFile:
		return "a file"
	case WidgetFiles:
		return "a list of files"
	case WidgetSecret:
		return "a secret"
	case WidgetList:
		items, _ := f.Schema["items"].(map[string]any)
		kind, _ := items["type"].(string)
		return "a list of " + kind + " values"
	}
	kind, _ := f.Schema["type"].(string)
	if word, ok := typeWord[kind]; ok {
		return word
	}
	return "any value"
}

// otherKeywords returns the part of a JSON field's schema that no other comparison covers, as a
// text. It is comparable because fmt prints maps sorted by key.
func otherKeywords(f Field) string {
	s := maps.Clone(f.Schema)
	for _, key := range []string{"title", "description", "default", "x-order", "minimum", "maximum", "enum", "format"} {
		delete(s, key)
	}
	return fmt.Sprint(s)
}

// compareOptions reports options that were removed, which is breaking, and those that
// were added, which is not.
func compareOptions(a, b Field, change func(bool, string, ...any)) {
	missing := func(in, from []any) []any {
		return slices.DeleteFunc(slices.Clone(from), func(v any) bool {
			return slices.ContainsFunc(in, func(o any) bool { return sameValue(o, v) })
		})
	}
	if gone := missing(b.Options, a.Options); len(gone) > 0 {
		change(true, "no longer offers %s", listed(gone))
	}
	if more := missing(a.Options, b.Options); len(more) > 0 {
		change(false, "also offers %s", listed(more))
	}
}

// compareBounds reports a changed minimum or maximum. Only a narrower range is
// breaking.
func compareBounds(a, b Field, change func(bool, string, ...any)) {
	if !samePointer(a.Min, b.Min) {
		narrower := b.Min != nil && (a.Min == nil || *b.Min > *a.Min)
		change(narrower, "may be as small as %s instead of %s", formatLimit(b.Min), formatLimit(a.Min))
	}
	if !samePointer(a.Max, b.Max) {
		narrower := b.Max != nil && (a.Max == nil || *b.Max < *a.Max)
		change(narrower, "may be as large as %s instead of %s", formatLimit(b.Max), formatLimit(a.Max))
	}
}

// samePointer reports whether two optional limits are equal, or both missing.
func samePointer(a, b *float64) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// formatLimit formats an optional limit to complete "may be as small as …". No limit is "you
// like".
func formatLimit(v *float64) string {
	if v == nil {
		return "you like"
	}
	return strings.TrimSpace(fmt.Sprintf("%g", *v))
}

// formatDefault formats a default for a sentence, in one line of at most 60 bytes. nil is "none".
func formatDefault(v any) string {
	if v == nil {
		return "none"
	}
	return oneLine(fmt.Sprint(v), 60)
}

// compareOutput records how the output differs. A changed type or a property that is
// gone is breaking, because other nodes are connected to it; a new property is not.
func (c *Changes) compareOutput(a, b Output) {
	if a.Type != b.Type {
		c.note(Change{Output: true, Breaking: true, Sentence: fmt.Sprintf("The output was %s and is now %s.", outputWord[a.Type], outputWord[b.Type])})
		return
	}
	if a.Joined != b.Joined {
		c.note(Change{Output: true, Sentence: "The output comes in another number of pieces."})
	}
	before, after := propertyTypes(a), propertyTypes(b)
	for _, p := range a.Properties {
		if t, ok := after[p.Name]; !ok {
			c.note(Change{Field: p.Name, Output: true, Breaking: true, Sentence: "Output " + p.Name + " is gone."})
		} else if t != p.Type {
			c.note(Change{Field: p.Name, Output: true, Breaking: true,
				Sentence: fmt.Sprintf("Output %s was %s and is now %s.", p.Name, outputWord[p.Type], outputWord[t])})
		}
	}
	for _, p := range b.Properties {
		if _, ok := before[p.Name]; !ok {
			c.note(Change{Field: p.Name, Output: true, Sentence: "Output " + p.Name + " is new."})
		}
	}
}

// propertyTypes returns the types of an object output's properties by name. It is empty
// for other outputs.
func propertyTypes(o Output) map[string]OutputType {
	out := make(map[string]OutputType, len(o.Properties))
	for _, p := range o.Properties {
		out[p.Name] = p.Type
	}
	return out
}

// outputWord names the types of outputs in sentences about changes.
var outputWord = map[OutputType]string{
	OutputText: "a text", OutputFile: "a file", OutputFiles: "a list of files", OutputList: "a list",
	OutputNumber: "a number", OutputSwitch: "true or false", OutputObject: "an object", OutputJSON: "any JSON",
}
