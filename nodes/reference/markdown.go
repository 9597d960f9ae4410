package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sluice/flow"
)

// markdownHead is the beginning of docs/nodes.md, which explains what all kinds share.
const markdownHead = `# Node kinds

Every kind of node: what it does, its fields and ports, an example, and how it can fail.

<!-- Written by "go generate ./nodes" from the declarations in nodes/. Edit those. -->

A node is one box in a flow; its kind says what it does. Fields are what you type into a node; a port receives or outputs a
value along an edge. Every field has an input port of the same name, which overrides the typed value, unless it is marked
°. A template field also has a port for each ` + "`{{name}}`" + ` in it. For the format of nodes and edges, see [flows as files](flows.md).
`

// Markdown returns the reference page of all kinds.
func Markdown(kinds *flow.Registry) []byte {
	var b bytes.Buffer
	b.WriteString(markdownHead)
	list := Describe(kinds)
	for i, k := range list {
		if i == 0 || k.Group != list[i-1].Group {
			writeGroup(&b, k.Group, list)
		}
		writeKind(&b, k)
	}
	return b.Bytes()
}

// writeGroup writes the heading of a group and the table of its kinds.
func writeGroup(b *bytes.Buffer, group string, list []KindDescription) {
	fmt.Fprintf(b, "\n## %s\n\n| Node | What it does |\n|---|---|\n", group)
	for _, k := range list {
		if k.Group == group {
			fmt.Fprintf(b, "| [%s](#%s) | %s |\n", k.Title, k.Kind, cell(k.Summary))
		}
	}
}

// writeKind writes the section of a kind: its doc, fields, ports, an example and its
// errors.
func writeKind(b *bytes.Buffer, k KindDescription) {
	fmt.Fprintf(b, "\n### `%s`\n\n%s: %s\n\n%s\n", k.Kind, k.Title, lowered(k.Summary), k.Doc)
	if k.Outside {
		b.WriteString("\nIt has an external effect, so its result is on disk before anything that depends on it starts.\n")
	}
	writeFields(b, k.Fields)
	writePorts(b, "Input port", ownPorts(k))
	writePorts(b, "Output port", k.Outputs)
	writeExample(b, k)
	writeErrors(b, k)
}

// lowered lowercases the first letter, for a sentence after a colon.
func lowered(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// writeFields writes the table of fields, if there are any. A ° marks those that can only
// be typed.
func writeFields(b *bytes.Buffer, fields []FieldDescription) {
	if len(fields) == 0 {
		return
	}
	b.WriteString("\n| Field | Type | Default | Meaning |\n|---|---|---|---|\n")
	for _, f := range fields {
		mark := ""
		if f.Typed {
			mark = "°"
		}
		fmt.Fprintf(b, "| `%s`%s | %s | %s | %s |\n", f.Name, mark, cell(fieldType(f)), cell(fieldDefault(f)), cell(f.Help+fieldBounds(f)))
	}
}

// fieldType returns the type of a field with its options and a note if it is a template.
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

// fieldBounds describes accepted files and bounds that the help text does not
// mention.
func fieldBounds(f FieldDescription) string {
	switch {
	case len(f.Accept) > 0:
		return " Takes " + strings.Join(f.Accept, ", ") + "."
	case f.Min != nil && f.Max != nil && !strings.ContainsAny(f.Help, "0123456789"):
		return fmt.Sprintf(" From %g to %g.", *f.Min, *f.Max)
	}
	return ""
}

// fieldDefault returns the default of a field as code, or "required", or "".
func fieldDefault(f FieldDescription) string {
	switch {
	case f.Default != nil && f.Default != "":
		return "`" + flow.Text(f.Default) + "`"
	case f.Required:
		return "required"
	}
	return ""
}

// ownPorts returns the input ports that are not fields.
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

// writePorts writes a table of ports, if there are any. title heads the first column.
func writePorts(b *bytes.Buffer, title string, ports []flow.Port) {
	if len(ports) == 0 {
		return
	}
	fmt.Fprintf(b, "\n| %s | Type | Meaning |\n|---|---|---|\n", title)
	for _, p := range ports {
		kind := string(p.Type)
		if p.List {
			kind += ", many edges"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", p.Name, kind, cell(p.Help))
	}
}

// cell escapes a text for a table cell.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ").Replace(s)
}

// exampleNode is the JSON form of a node in a document.
type exampleNode struct {
	ID     string         `json:"id"`
	Kind   string         `json:"kind"`
	Config map[string]any `json:"config"`
}

// writeExample shows a node with example inputs and outputs.
func writeExample(b *bytes.Buffer, k KindDescription) {
	node := encode(exampleNode{strings.ReplaceAll(k.Kind, "_", "-"), k.Kind, k.Example.Config})
	fmt.Fprintf(b, "\nAs a node in a document:\n\n```json\n%s```\n", node)
	if len(k.Example.Ports) > 0 {
		fmt.Fprintf(b, "\nWith these inputs:\n\n```json\n%s```\n", encode(k.Example.Ports))
	}
	if len(k.Example.Outputs) > 0 {
		fmt.Fprintf(b, "\nit outputs:\n\n```json\n%s```\n", encode(k.Example.Outputs))
	}
}

// encode returns an example as indented JSON. It does not escape <, > and &, which the page
// shows as they are.
func encode(v any) string {
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		panic("nodes: encode example: " + err.Error())
	}
	return data.String()
}

// Error codes of kinds that call providers or the network.
var (
	providerErrors = []flow.Code{
		flow.CodeProviderAuth, flow.CodeProviderRateLimited, flow.CodeProviderRejected, flow.CodeProviderUnavailable, flow.CodeModelNotFound, flow.CodeModelIncompatible,
		flow.CodeOutputInvalid, flow.CodeStepTimeout,
	}
	networkErrors = []flow.Code{flow.CodeDestinationBlocked, flow.CodeHTTPFailed, flow.CodeStepTimeout}
	// ownErrors lists codes by kind, where they do not follow from the fields.
	ownErrors = map[string][]flow.Code{
		"http_request": networkErrors, "web_page": networkErrors, "document": networkErrors, "file": networkErrors,
		"condition": {flow.CodeExpressionFailed}, "expression": {flow.CodeExpressionFailed}, "switch": {flow.CodeExpressionFailed},
	}
)

// writeErrors lists the error codes of a kind, with links to docs/errors.md.
func writeErrors(b *bytes.Buffer, k KindDescription) {
	if k.Role != "node" || k.Class == "inline" && len(ownErrors[k.Kind]) == 0 {
		return
	}
	codes := append([]flow.Code{flow.CodeInputInvalid}, ownErrors[k.Kind]...)
	if slices.ContainsFunc(k.Fields, func(f FieldDescription) bool { return f.Type == string(flow.FieldModel) }) {
		codes = append(codes, providerErrors...)
	}
	links := make([]string, len(codes))
	for i, code := range codes {
		links[i] = fmt.Sprintf("[`%s`](errors.md#%s)", code, code)
	}
	fmt.Fprintf(b, "\nIt can fail with %s.\n", strings.Join(links, ", "))
}
