package openapi

import (
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
)

// ExampleFileID stands for the ID of a file in examples.
const ExampleFileID = flow.PrefixFile + "01m7z26njgm1r68xj6qyhfyvty"

// fileValueSchema describes a file value, as in inputs and, with a url, in responses and
// webhooks.
func fileValueSchema() Schema {
	text := func(text string) Schema { return Schema{"type": "string", "description": text} }
	id := text("The ID from the upload response.")
	id["pattern"] = "^" + flow.PrefixFile + "[0-9a-z]{26}$"
	return Schema{
		"type": "object", "required": []string{"file"},
		"description": "A file. Upload it first: POST /v1/files as multipart/form-data with the part \"file\" returns this object. As an input, the ID is enough.",
		"properties": Schema{
			"file": id, "name": text("Set by Sluice."), "mime": text("Set by Sluice."),
			"size": Schema{"type": "integer", "minimum": 0, "description": "Bytes; set by Sluice."},
			"url":  text("In responses and webhooks: download link that needs no key, until it expires. Ignored in inputs."),
		},
		"examples": []any{Schema{"file": ExampleFileID}},
	}
}

// InputsSchema returns the JSON Schema of the inputs, which for files also explains the
// upload.
func InputsSchema(inputs []contract.Input) Schema {
	s := Schema(contract.Schema(inputs))
	properties := s["properties"].(*flow.Object)
	for i := range inputs {
		if in := &inputs[i]; in.TakesFiles() && in.Type != flow.TypeMessages {
			properties.Set(in.Name, fileInputSchema(in, properties.Get(in.Name).(Schema)))
		}
	}
	return s
}

// fileInputSchema explains the three forms of a file in the schema of an input, or
// of the items of a list of files.
func fileInputSchema(in *contract.Input, own Schema) Schema {
	file := own
	if items, ok := own["items"].(Schema); ok && in.Items == flow.TypeFile {
		file = items
	}
	address := Schema{
		"type": "string", "format": "uri", "pattern": "^([hH][tT][tT][pP][sS]?|[dD][aA][tT][aA]):",
		"description": "The https URL of a file, which Sluice fetches once when the run starts, or a data URL with its content in base64.",
	}
	file["oneOf"] = []any{fileValueSchema(), address, Schema{
		"type": "object", "required": []string{"url"}, "additionalProperties": false, "description": "A URL with a name for the stored file.",
		"properties": Schema{"url": address, "name": Schema{"type": "string"}},
	}}
	how := "A file: uploaded with POST /v1/files, or its URL."
	if text, ok := own["description"].(string); ok {
		how = strings.TrimSuffix(text, ".") + ". " + how
	}
	own["description"] = how
	if in.Type == flow.TypeFile {
		own["examples"] = []any{FileExample(in), ExampleFileURL}
	}
	return own
}

// ExampleFileURL stands for the URL of a file in examples.
const ExampleFileURL = "https://example.com/files/cat.png"

// FileExample returns the example of the input if it is a file or an address, or a
// file.
func FileExample(in *contract.Input) any {
	_, isFile := flow.FileID(in.Example)
	_, isRemote := flow.RemoteFileOf(in.Example)
	if isFile || isRemote {
		return in.Example
	}
	return Schema{"file": ExampleFileID}
}

// TakesFiles reports whether any of the inputs takes files.
func TakesFiles(inputs []contract.Input) bool {
	return slices.ContainsFunc(inputs, func(in contract.Input) bool { return in.TakesFiles() })
}
