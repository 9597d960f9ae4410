package api

import (
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
)

const exampleFileID = flow.PrefixFile + "01m7z26njgm1r68xj6qyhfyvty"

// fileValueSchema describes a file value, as in inputs and, with a url, in responses and
// webhooks.
func fileValueSchema() schema {
	text := func(text string) schema { return schema{"type": "string", "description": text} }
	id := text("The ID from the upload response.")
	id["pattern"] = "^" + flow.PrefixFile + "[0-9a-z]{26}$"
	return schema{
		"type": "object", "required": []string{"file"},
		"description": "A file. Upload it first: POST /v1/files as multipart/form-data with the part \"file\" returns this object. As an input, the ID is enough.",
		"properties": schema{
			"file": id, "name": text("Set by Sluice."), "mime": text("Set by Sluice."),
			"size": schema{"type": "integer", "minimum": 0, "description": "Bytes; set by Sluice."},
			"url":  text("In responses and webhooks: download link that needs no key, until it expires. Ignored in inputs."),
		},
		"examples": []any{schema{"file": exampleFileID}},
	}
}

// InputsSchema returns the JSON Schema of the inputs, which for files also explains the
// upload.
func InputsSchema(inputs []contract.Input) schema {
	s := schema(contract.Schema(inputs))
	properties := s["properties"].(schema)
	for i := range inputs {
		if in := &inputs[i]; in.TakesFiles() && in.Type != flow.TypeMessages {
			properties[in.Name] = fileInputSchema(in, properties[in.Name].(schema))
		}
	}
	return s
}

// fileInputSchema explains the three forms of a file in the schema of an input, or
// of the items of a list of files.
func fileInputSchema(in *contract.Input, own schema) schema {
	file := own
	if items, ok := own["items"].(schema); ok && in.Items == flow.TypeFile {
		file = items
	}
	address := schema{
		"type": "string", "format": "uri", "pattern": "^([hH][tT][tT][pP][sS]?|[dD][aA][tT][aA]):",
		"description": "The https URL of a file, which Sluice fetches once when the run starts, or a data URL with its content in base64.",
	}
	file["oneOf"] = []any{fileValueSchema(), address, schema{
		"type": "object", "required": []string{"url"}, "additionalProperties": false, "description": "A URL with a name for the stored file.",
		"properties": schema{"url": address, "name": schema{"type": "string"}},
	}}
	how := "A file: uploaded with POST /v1/files, or its URL."
	if text, ok := own["description"].(string); ok {
		how = strings.TrimSuffix(text, ".") + ". " + how
	}
	own["description"] = how
	if in.Type == flow.TypeFile {
		own["examples"] = []any{fileExample(in), exampleFileURL}
	}
	return own
}

const exampleFileURL = "https://example.com/files/cat.png"

// fileExample returns the example of the input if it is a file or an address, or a
// file.
func fileExample(in *contract.Input) any {
	_, isFile := flow.FileID(in.Example)
	_, isRemote := flow.RemoteFileOf(in.Example)
	if isFile || isRemote {
		return in.Example
	}
	return schema{"file": exampleFileID}
}

func takesFiles(inputs []contract.Input) bool {
	return slices.ContainsFunc(inputs, func(in contract.Input) bool { return in.TakesFiles() })
}
