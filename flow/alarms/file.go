package alarms

import (
	"fmt"

	"sluice/flow"
	"sluice/flow/companion"
)

// FileSchema is the schema of the file with the alarms of a workspace.
const FileSchema = "sluice.alarms/v1"

// Entry is an alarm in a file: what people set, without its state.
type Entry struct {
	Name   string
	Flow   string // slug, or "" for all flows
	Config Config
}

// Object returns the JSON of an entry.
func (e *Entry) Object() *flow.Object {
	o := &flow.Object{}
	o.Set("name", e.Name)
	if e.Flow != "" {
		o.Set("flow", e.Flow)
	}
	v, _ := flow.DecodeJSON(flow.EncodeJSON(&e.Config)) // all of it was encoded here
	config, _ := flow.AsObject(v)
	for name, v := range config.All() {
		o.Set(name, v)
	}
	return o
}

// file describes the file of alarms.
var file = companion.List[Entry]{
	Schema: FileSchema, Noun: "alarm", Most: MaxPerWorkspace,
	Name: func(e *Entry) string { return e.Name }, Object: (*Entry).Object,
}

// Equal reports whether two entries are the same in a file.
func (e *Entry) Equal(other *Entry) bool { return file.Same(e, other) }

// WriteFile returns the file of alarms, which are sorted by name.
func WriteFile(list []Entry) *flow.Object { return file.Write(list) }

// ParseFile reads the file of alarms.
func ParseFile(o *flow.Object) ([]Entry, []flow.Problem) { return file.Parse(o, parseEntry) }

// parseEntry reads one alarm. Pointers of problems start at the entry.
func parseEntry(v any) (e Entry, problems []flow.Problem) {
	o, ok := flow.AsObject(v)
	if !ok {
		return e, []flow.Problem{{Code: "invalid", Detail: "must be an object with name and kind"}}
	}
	e.Name, _ = o.Get("name").(string)
	if !ValidName(e.Name) {
		problems = append(problems, flow.Problem{Pointer: "/name", Code: "invalid", Detail: fmt.Sprintf("must have lower-case letters, digits and hyphens, at most %d", MaxName)})
	}
	if slug := o.Get("flow"); slug != nil {
		if e.Flow, ok = slug.(string); !ok {
			problems = append(problems, flow.Problem{Pointer: "/flow", Code: "invalid", Detail: "must be the slug of a flow"})
		}
	}
	config := o.Clone()
	config.Delete("name")
	config.Delete("flow")
	if problems = append(problems, companion.DecodeMembers(config, &e.Config, "alarms")...); len(problems) > 0 {
		return e, problems
	}
	return e, e.Config.Check()
}
