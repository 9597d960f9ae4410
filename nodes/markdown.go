package nodes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sluice/flow"
)

//go:generate go test -run ^TestMarkdown$ . -update

const markdownHead = `# Node kinds

<!-- Written by "go generate ./nodes" from the declarations in nodes/. Edit those. -->

A node is one box in a flow; its kind says what it does. Fields are what you type into a node; a port takes or gives a
value along an edge. Every field has an input port of the same name, which overrides what is typed, unless it is marked
°. A template field also has a port for each ` + "`{{name}}`" + ` in it.

`

// Markdown writes the reference of all kinds.
func Markdown(kinds *flow.Registry) []byte {
	var b bytes.Buffer
	b.WriteString(markdownHead)
	list := Describe(kinds)
	for _, k := range list {
		fmt.Fprintf(&b, "- [`%s`](#%s): %s\n", k.Kind, k.Kind, k.Summary)
	}
	group := ""
	for _, k := range list {
		if k.Group != group {
			group = k.Group
			fmt.Fprintf(&b, "\n## %s\n", group)
		}
		writeKind(&b, k)
	}
	return b.Bytes()
}

func writeKind(b *bytes.Buffer, k KindDescription) {
	fmt.Fprintf(b, "\n### `%s`\n\n%s\n", k.Kind, k.Doc)
	if k.Outside {
		b.WriteString("\nIt has an effect outside of Sluice, so its result is on disk before anything that depends on it starts.\n")
	}
	writeFields(b, k.Fields)
	writePorts(b, "Input port", ownPorts(k))
	writePorts(b, "Output port", k.Outputs)
	writeExample(b, k.Example)
}

func writeFields(b *bytes.Buffer, fields []FieldDescription) {
	if len(fields) == 0 {
		return
	}
	b.WriteString("\n| Field | Type | Default | |\n|---|---|---|---|\n")
	for _, f := range fields {
		mark := ""
		if f.Typed {
			mark = "°"
		}
		fmt.Fprintf(b, "| `%s`%s | %s | %s | %s |\n", f.Name, mark, cell(fieldType(f)), cell(fieldDefault(f)), cell(f.Help))
	}
}

func fieldType(f FieldDescription) string {
	s := f.Type
	if len(f.Options) > 0 {
		s += ": " + strings.Join(f.Options, ", ")
	}
	if f.Template {
		s += ", template"
	}
	return s
}

func fieldDefault(f FieldDescription) string {
	switch {
	case f.Default != nil && f.Default != "":
		return "`" + flow.Text(f.Default) + "`"
	case f.Required:
		return "required"
	}
	return ""
}

// ownPorts are the input ports that are not fields.
func ownPorts(k KindDescription) []flow.Port {
	fields := map[string]bool{}
	for _, f := range k.Fields {
		fields[f.Name] = true
	}
	var ports []flow.Port
	for _, p := range k.Inputs {
		if !fields[p.Name] {
			ports = append(ports, p)
		}
	}
	return ports
}

func writePorts(b *bytes.Buffer, title string, ports []flow.Port) {
	if len(ports) == 0 {
		return
	}
	fmt.Fprintf(b, "\n| %s | Type | |\n|---|---|---|\n", title)
	for _, p := range ports {
		kind := string(p.Type)
		if p.List {
			kind += ", many edges"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", p.Name, kind, cell(p.Help))
	}
}

// cell keeps a text within its cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ").Replace(s)
}

func writeExample(b *bytes.Buffer, e ExampleDescription) {
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(e); err != nil {
		panic("nodes: encode example: " + err.Error())
	}
	fmt.Fprintf(b, "\n```json\n%s```\n", data.String())
}
