package main

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sluice/cmd/sluice/command"
	"sluice/flow"
	"sluice/handlers/admin"
	flowapi "sluice/handlers/api"
	"sluice/handlers/api/openapi"
)

// bodyFlags are the flags for a request body that the API declares. The field
//
//	Body bodyFlags `body:"SetPrice" names:"model=-"`
//
// has a flag for each member of SetPrice: its name in kebab case, its type, and its text as help. So a
// new member is a flag without another line. The tag names gives a member another flag
// ("columns=column"), or none ("model=-") if the command has a flag of its own for it.
type bodyFlags struct{ list []bodyFlag }

// bodyFlag is the flag of a member.
type bodyFlag struct {
	openapi.Member
	*command.Flag
	value any // pointer to what the flag sets
}

// requestBodies returns the declared bodies by name.
var requestBodies = sync.OnceValue(func() map[string]openapi.Body {
	bodies := map[string]openapi.Body{}
	for _, b := range slices.Concat(admin.Bodies(), flowapi.Bodies()) {
		bodies[b.Name] = b
	}
	return bodies
})

// DeclareFlags implements command.Declarer. It panics if the API declares no such body.
func (b *bodyFlags) DeclareFlags(tag reflect.StructTag) (flags []*command.Flag) {
	body, ok := requestBodies()[tag.Get("body")]
	if !ok {
		panic(fmt.Sprintf("the API declares no body %q", tag.Get("body")))
	}
	names := map[string]string{}
	for pair := range strings.SplitSeq(tag.Get("names"), ",") {
		member, name, _ := strings.Cut(pair, "=")
		names[member] = name
	}
	for _, m := range body.Members {
		name, renamed := names[m.Name]
		if delete(names, m.Name); name == "-" {
			continue
		}
		if !renamed {
			name = strings.ReplaceAll(m.Name, "_", "-")
		}
		f := newBodyFlag(m, name)
		b.list, flags = append(b.list, f), append(flags, f.Flag)
	}
	if delete(names, ""); len(names) > 0 {
		panic(fmt.Sprintf("%s has no members %v", body.Name, names))
	}
	return flags
}

// newBodyFlag returns the flag of a member.
func newBodyFlag(m openapi.Member, name string) bodyFlag {
	f := command.Flag{Name: name, Required: m.Required, Help: m.Text()}
	of, placeholder, enum := any(new(string)), strings.ToUpper(name), []string(nil)
	switch m.Type() {
	case "integer":
		of, placeholder = new(int64), "N"
	case "number":
		of, placeholder = new(float64), "N"
		if strings.Contains(m.Name, "usd") || strings.HasPrefix(m.Text(), "Dollars") {
			placeholder = "USD"
		}
	case "boolean":
		of, placeholder = new(bool), ""
	case "array":
		of = new([]string)
		if items, _ := m.Schema["items"].(openapi.Schema); items["enum"] != nil {
			f.Help = strings.TrimSuffix(f.Help, ".") + ": " + strings.Join(enumTexts(items), ", ") + "."
		}
	case "object":
		of, placeholder = new([]string), "NAME=VALUE"
	default:
		if enum = enumTexts(m.Schema); enum != nil {
			placeholder = strings.Join(enum, "|")
		}
	}
	f.Help = helpWithoutNull(f.Help, isNumber(of))
	return bodyFlag{m, f.Bind(of, placeholder, m.Type() == "array", enum...), of}
}

// isNumber reports whether a flag sets a number.
func isNumber(of any) bool {
	switch of.(type) {
	case *int64, *float64:
		return true
	}
	return false
}

// enumTexts returns the values that a schema lists, without null.
func enumTexts(schema openapi.Schema) (texts []string) {
	list := reflect.ValueOf(schema["enum"])
	if !list.IsValid() {
		return nil
	}
	for i := range list.Len() {
		if v := list.Index(i).Interface(); v != nil {
			texts = append(texts, fmt.Sprint(v))
		}
	}
	return texts
}

// Texts of the API about null, which flags cannot have: for numbers 0 stands for it.
var (
	orNull    = regexp.MustCompile(`0 or null`)
	nullIs    = regexp.MustCompile(`\b[Nn]ull( for|:)`)
	aboutNull = regexp.MustCompile(` ?[Nn]ull( or| for|:)[^.;]*[.;]`)
)

// helpWithoutNull returns the text of a member as the help of a flag.
func helpWithoutNull(text string, number bool) string {
	if number {
		return nullIs.ReplaceAllString(orNull.ReplaceAllString(text, "0"), "0$1")
	}
	return strings.TrimSpace(aboutNull.ReplaceAllString(text, ""))
}

// values returns the members whose flags are given. 0 is null where the API has null for it.
func (b bodyFlags) values() (map[string]any, error) {
	values := map[string]any{}
	for _, f := range b.list {
		if !f.Given() {
			continue
		}
		v := reflect.ValueOf(f.value).Elem()
		switch {
		case isNumber(f.value) && v.IsZero() && f.Nullable():
			values[f.Member.Name] = nil
		case f.Member.Type() == "object":
			pairs := map[string]string{}
			for _, text := range v.Interface().([]string) {
				name, value, ok := strings.Cut(text, "=")
				if !ok {
					return nil, usageError(fmt.Sprintf("--%s %q: write NAME=VALUE", f.Flag.Name, text))
				}
				pairs[name] = value
			}
			values[f.Member.Name] = pairs
		default:
			values[f.Member.Name] = v.Interface()
		}
	}
	return values, nil
}

// explain turns the error about an invalid member into a usage error that names its flag.
func (b bodyFlags) explain(err error) error {
	e, ok := errors.AsType[*flow.Error](err)
	if !ok || e.Code != flow.CodeInputInvalid || len(e.Fields) == 0 {
		return err
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(e.Fields[0].Pointer, "/"), "/")
	for _, f := range b.list {
		if f.Member.Name == name {
			return usageError("--" + f.Flag.Name + ": " + e.Fields[0].Detail)
		}
	}
	return err
}
