package api

import (
	"slices"
	"strings"

	"sluice/flow"
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
func InputsSchema(inputs []flow.Input) schema {
	s := schema(flow.InputsSchema(inputs))
	properties := s["properties"].(schema)
	for i := range inputs {
		if in := &inputs[i]; in.Type == flow.TypeFile {
			properties[in.Name] = fileInputSchema(in, properties[in.Name].(schema))
		}
	}
	return s
}

// fileInputSchema merges the schema of an input with that of a file value.
func fileInputSchema(in *flow.Input, own schema) schema {
	file := fileValueSchema()
	if text, ok := own["description"].(string); ok {
		file["description"] = strings.TrimSuffix(text, ".") + ". " + file["description"].(string)
	}
	for name, v := range own {
		if file[name] == nil {
			file[name] = v
		}
	}
	file["examples"] = []any{fileExample(in)}
	return file
}

// fileExample returns the example of the input if that is a file value.
func fileExample(in *flow.Input) any {
	if _, ok := flow.FileID(in.Example); ok {
		return in.Example
	}
	return schema{"file": exampleFileID}
}

func takesFiles(inputs []flow.Input) bool {
	return slices.ContainsFunc(inputs, func(in flow.Input) bool { return in.Type == flow.TypeFile })
}
