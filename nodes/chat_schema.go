package nodes

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"sluice/flow"
)

// maxSchema is in bytes of JSON; providers refuse far smaller ones.
const maxSchema = 64 << 10

var schemaField = flow.Field{Name: "schema", Title: "Answer as JSON", Type: flow.FieldJSON,
	Help: "A JSON Schema of an object. The answer is then JSON that fits it, and each of its properties is an output port. It refers to no other documents and has at most 64 KiB."}

// shapeChat grows an output port for each property of the typed schema, by
// name.
func shapeChat(n *flow.Node) flow.Shape {
	schema, _ := n.Config["schema"].(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	var shape flow.Shape
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if grows(name) {
			property, _ := properties[name].(map[string]any)
			shape.Outputs = append(shape.Outputs, propertyPort(name, property))
		}
	}
	return shape
}

// grows tells whether a property has a port of its own: some names are taken.
func grows(property string) bool {
	return property != "" && property != "text" && property != "json" && property != flow.ErrorPort
}

func propertyPort(name string, property map[string]any) flow.Port {
	title, _ := property["title"].(string)
	help, _ := property["description"].(string)
	return flow.Port{Name: name, Title: cmp.Or(title, name), Help: cmp.Or(help, "The property "+name+" of the answer."), Type: propertyType(property["type"])}
}

// propertyType is the type of a port for a type of JSON Schema. What may be of
// several types, such as text or null, is any value.
func propertyType(kind any) flow.Type {
	switch kind {
	case "string":
		return flow.TypeText
	case "number", "integer":
		return flow.TypeNumber
	case "boolean":
		return flow.TypeBoolean
	case "array":
		return flow.TypeList
	}
	return flow.TypeJSON
}

func checkSchema(n *flow.Node) []flow.Problem {
	value := n.Config["schema"]
	if value == nil {
		return nil
	}
	if wrong := schemaProblem(value); wrong != "" {
		return []flow.Problem{{Pointer: "/schema", Code: "invalid", Detail: wrong}}
	}
	return nil
}

// readSchema takes an object, or by an edge a text that is one.
func readSchema(in *flow.In) (map[string]any, error) {
	value := in.Config["schema"]
	if text, isText := value.(string); isText {
		value, _ = flow.DecodeJSON([]byte(text)) // nil is no object
		if strings.TrimSpace(text) == "" {
			return nil, nil
		}
	} else if value == nil {
		return nil, nil
	}
	if wrong := schemaProblem(value); wrong != "" {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The schema cannot be used: %s.", wrong)
	}
	schema, _ := value.(map[string]any)
	return schema, nil
}

// noDocuments keeps a schema from naming files and addresses to be read.
type noDocuments struct{}

var errOtherDocument = errors.New("it refers to another document, and none is read")

func (noDocuments) Load(string) (any, error) { return nil, errOtherDocument }

// schemaProblem says what is wrong with a schema, empty when nothing is.
func schemaProblem(value any) string {
	schema, ok := value.(map[string]any)
	if !ok || schema["type"] != "object" {
		return `wanted a JSON Schema of an object, such as {"type": "object", "properties": {"answer": {"type": "string"}}}`
	}
	data := flow.EncodeJSON(schema)
	if len(data) > maxSchema {
		return "it is larger than 64 KiB"
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return "it cannot be read"
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noDocuments{})
	if err = compiler.AddResource("schema:answer", doc); err == nil {
		_, err = compiler.Compile("schema:answer")
	}
	return wordSchemaError(err)
}

var english = message.NewPrinter(language.English)

// wordSchemaError says the first thing that is wrong and where, without the
// library's frame.
func wordSchemaError(err error) string {
	if err == nil {
		return ""
	}
	if errors.Is(err, errOtherDocument) {
		return errOtherDocument.Error()
	}
	if e, ok := errors.AsType[*jsonschema.LoadURLError](err); ok && errors.Is(e.Err, errOtherDocument) {
		return errOtherDocument.Error()
	}
	outer, ok := errors.AsType[*jsonschema.SchemaValidationError](err)
	if !ok {
		return "it is not a JSON Schema"
	}
	e, ok := outer.Err.(*jsonschema.ValidationError)
	for ok && len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	if !ok {
		return "it is not a JSON Schema"
	}
	return "at /" + strings.Join(e.InstanceLocation, "/") + " " + strings.TrimSuffix(e.ErrorKind.LocalizedString(english), ".")
}
