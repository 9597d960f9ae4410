package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// schema is the part of a JSON Schema that the reference shows.
type schema struct {
	Ref         string `json:"$ref"`
	Type        any    // a text or several
	Format      string
	Description string
	Properties  map[string]*schema
	Items       *schema
	AnyOf       []*schema
	Enum        []any
	Const       any
	Minimum     *float64
	Maximum     *float64
	MaxLength   *int
	Default     any
	Examples    []json.RawMessage
}

// kind describes the type of values in a few words.
func (s *schema) kind() string {
	switch {
	case s == nil:
		return "anything"
	case s.Ref != "":
		return fmt.Sprintf("[%s](#%s)", refName(s.Ref), strings.ToLower(refName(s.Ref)))
	case s.Const != nil:
		return fmt.Sprintf("`%v`", s.Const)
	case len(s.AnyOf) > 0:
		var kinds []string
		for _, of := range s.AnyOf {
			kinds = append(kinds, of.kind())
		}
		return strings.Join(kinds, " or ")
	case s.Items != nil:
		return "list of " + s.Items.kind()
	}
	return s.typeNames()
}

// typeWords maps JSON Schema types to the terms of this documentation.
var typeWords = map[string]string{"string": "text", "integer": "whole number", "array": "list"}

// typeNames returns the types of a schema in words, such as "text or null". A schema
// without types accepts anything.
func (s *schema) typeNames() string {
	var kinds []string
	for _, t := range s.types() {
		switch word := typeWords[t]; {
		case t == "string" && s.Format == "date-time":
			kinds = append(kinds, "time")
		case word != "":
			kinds = append(kinds, word)
		default:
			kinds = append(kinds, t)
		}
	}
	if len(kinds) == 0 {
		return "anything"
	}
	return strings.Join(kinds, " or ")
}

// types returns the types of a schema, which JSON Schema writes as a string or a list.
func (s *schema) types() []string {
	switch t := s.Type.(type) {
	case string:
		return []string{t}
	case []any:
		var list []string
		for _, name := range t {
			list = append(list, fmt.Sprint(name))
		}
		return list
	}
	return nil
}

// bounds describes the constraints of a value in sentences, each with a leading
// space.
func (s *schema) bounds() string {
	if s == nil {
		return ""
	}
	text := ""
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, fmt.Sprintf("`%v`", v))
		}
		text += " One of " + strings.Join(values, ", ") + "."
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		text += fmt.Sprintf(" From %v to %v.", *s.Minimum, *s.Maximum)
	case s.Maximum != nil:
		text += fmt.Sprintf(" At most %v.", *s.Maximum)
	}
	if s.MaxLength != nil {
		text += fmt.Sprintf(" At most %d characters.", *s.MaxLength)
	}
	if s.Default != nil {
		text += fmt.Sprintf(" `%v` when absent.", s.Default)
	}
	return text
}

// refName returns the name at the end of a reference.
func refName(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// cellOf escapes a text for a table cell.
func cellOf(text string) string {
	return strings.TrimSpace(strings.NewReplacer("|", `\|`, "\n", " ").Replace(text))
}

// indented formats an example over several lines. Text that is not valid JSON stays as
// it is.
func indented(text json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}

// compact removes insignificant white space from an example, for a command in one line.
func compact(text json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}
