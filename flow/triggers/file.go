package triggers

import (
	"errors"
	"fmt"

	"sluice/flow"
	"sluice/flow/companion"
	"sluice/flow/hooks"
)

// FileSchema is the schema of files with the triggers of a flow.
const FileSchema = "sluice.triggers/v1"

// Entry is a trigger in a file: what people set, without its state and without the secret of its URL.
type Entry struct {
	Name   string
	Kind   Kind
	Config Config       // of a schedule
	Hook   hooks.Config // of an incoming webhook
}

// EntryOf returns a trigger as files have it.
func EntryOf(t *Trigger) Entry { return Entry{t.Name, t.Kind, t.Config, t.Hook} }

// settings returns the configuration of the kind.
func (e *Entry) settings() any {
	if e.Kind == Hook {
		return &e.Hook
	}
	return &e.Config
}

// Object returns the JSON of an entry.
func (e *Entry) Object() *flow.Object {
	o := &flow.Object{}
	o.Set("name", e.Name)
	o.Set("kind", string(e.Kind))
	v, _ := flow.DecodeJSON(flow.EncodeJSON(e.settings())) // all of it was encoded here
	config, _ := flow.AsObject(v)
	for name, v := range config.All() {
		if inner, ok := flow.AsObject(v); !ok || inner.Len() > 0 || name == "test" {
			o.Set(name, v)
		}
	}
	return o
}

// file describes the file of triggers.
var file = companion.List[Entry]{
	Schema: FileSchema, Noun: "trigger", Most: MaxPerFlow,
	Name: func(e *Entry) string { return e.Name }, Object: (*Entry).Object,
}

// Equal reports whether two entries are the same in a file.
func (e *Entry) Equal(other *Entry) bool { return file.Same(e, other) }

// WriteFile returns the file of triggers, which are sorted by name.
func WriteFile(list []Entry) *flow.Object { return file.Write(list) }

// ParseFile reads the file of triggers. check returns an error for a wrong expression over names.
func ParseFile(o *flow.Object, check func(source string, names ...string) error) ([]Entry, []flow.Problem) {
	return file.Parse(o, func(v any) (Entry, []flow.Problem) { return parseEntry(v, check) })
}

// parseEntry reads one trigger. Pointers of problems start at the entry.
func parseEntry(v any, check func(source string, names ...string) error) (e Entry, problems []flow.Problem) {
	fail := func(code, detail string, path ...any) {
		problems = append(problems, flow.Problem{Pointer: flow.Pointer(path...), Code: code, Detail: detail})
	}
	o, ok := flow.AsObject(v)
	if !ok {
		fail("invalid", "must be an object with name and kind")
		return e, problems
	}
	name, _ := o.Get("name").(string)
	kind, _ := o.Get("kind").(string)
	if e.Name, e.Kind = name, Kind(kind); !ValidName(name) {
		fail("invalid", fmt.Sprintf("must have lower-case letters, digits and hyphens, at most %d", MaxName), "name")
	}
	if e.Kind != Schedule && e.Kind != Hook {
		fail("invalid", "must be schedule or hook", "kind")
		return e, problems
	}
	config := o.Clone()
	config.Delete("name")
	config.Delete("kind")
	if v, given := config.Lookup("test"); given && e.Kind == Schedule {
		var wrong []flow.Problem
		e.Config.Test, wrong = ParseTest(v)
		for _, p := range wrong {
			p.Pointer = "/test" + p.Pointer
			problems = append(problems, p)
		}
		config.Delete("test")
	}
	if problems = append(problems, companion.DecodeMembers(config, e.settings(), "this kind of trigger")...); len(problems) > 0 {
		return e, problems
	}
	if e.Config.Inputs.Len() == 0 {
		e.Config.Inputs = nil
	}
	if e.Hook.Inputs.Len() == 0 {
		e.Hook.Inputs = nil
	}
	if e.Kind == Hook {
		return e, e.Hook.Check(check)
	}
	problems = e.Config.Check(check)
	_, err := e.Config.Schedule("")
	if invalid, ok := errors.AsType[*flow.Error](err); ok {
		problems = append(invalid.Fields, problems...)
	}
	return e, problems
}
