package library

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sluice/flow"
)

// companionOfSchema returns the companion of a decoded file, or the problem that it has none.
func companionOfSchema(v any) (*Companion, *flow.Object, *flow.Problem) {
	o, ok := flow.AsObject(v)
	if !ok {
		return nil, nil, &flow.Problem{Code: "invalid", Detail: "must be an object"}
	}
	schema, _ := o.Get("schema").(string)
	known := map[string]bool{}
	for _, c := range companions {
		if known[c.Schema] = true; c.Schema == schema {
			return c, o, nil
		}
	}
	return nil, nil, &flow.Problem{Pointer: "/schema", Code: "unknown", Detail: fmt.Sprintf("%q is no schema of a file beside a flow", schema) + flow.Closest(schema, known)}
}

// CompanionFile returns the name of the file of a companion, and whether the flow with a slug has it.
func (c *Companion) CompanionFile(slug string) string {
	if c.OfWorkspace {
		slug = WorkspaceFile
	}
	return slug + c.Suffix()
}

// WorkspaceFile takes the place of the slug in names of files beside a workspace.
const WorkspaceFile = "sluice"

// Suffix is the end of the names of files.
func (c *Companion) Suffix() string { return "." + c.Name + ".json" }

// FormatCompanion returns a file in canonical form, or its problems.
func (c *Companion) FormatCompanion(data []byte, check func(source string, names ...string) error) ([]byte, []flow.Problem) {
	v, err := flow.DecodeJSON(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		return nil, []flow.Problem{{Code: "invalid", Detail: err.Error()}}
	}
	of, o, problem := companionOfSchema(v)
	if problem == nil && of != c {
		problem = &flow.Problem{Pointer: "/schema", Code: "invalid", Detail: fmt.Sprintf("must be %s in a file *%s", c.Schema, c.Suffix())}
	}
	if problem != nil {
		return nil, []flow.Problem{*problem}
	}
	content, problems := c.Parse(o, check)
	if len(problems) > 0 {
		return nil, problems
	}
	return c.encode(content), nil
}

// IsEmpty reports whether a file in canonical form has no entries.
func (c *Companion) IsEmpty(data []byte) bool {
	v, err := flow.DecodeJSON(data)
	if err != nil {
		return false
	}
	o, _ := flow.AsObject(v)
	for name, v := range o.All() {
		if list, isList := v.([]any); name != "schema" && (!isList || len(list) > 0) {
			return false
		}
	}
	return true
}

// encode returns the file of a content.
func (c *Companion) encode(content any) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, flow.EncodeJSON(c.Write(content)), "", "  "); err != nil {
		panic("library: encode a companion: " + err.Error()) // it was encoded here
	}
	b.WriteByte('\n')
	return b.Bytes()
}
