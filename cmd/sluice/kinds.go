package main

import (
	"context"
	"io"

	"sluice/nodes"
	"sluice/nodes/reference"
)

// kindsCmd lists the node kinds. The JSON output has the declarations from which the
// editor's forms and docs/nodes.md are generated.
type kindsCmd struct {
	JSON  bool `help:"Print the full declarations as JSON."`
	Types bool `help:"Print what JavaScript in code nodes can use, as a TypeScript declaration file."`
}

// Run prints the declarations of all node kinds, which are compiled in.
func (c kindsCmd) Run(_ context.Context, _ *Config, s *streams) error {
	if c.Types {
		_, err := io.WriteString(s.Out, nodes.CodeTypes)
		return err
	}
	list := reference.Describe(nodes.New(nodes.Deps{}))
	if c.JSON {
		return printJSON(s.Out, list)
	}
	return table(s.Out, "", list, func(k *reference.KindDescription) string { return k.Kind + "\t" + k.Group + "\t" + k.Summary })
}

// schemaCmd prints the JSON Schema of flow documents, with which editors complete and check
// files.
type schemaCmd struct{}

// Run prints the schema, which is derived from the declarations of the node kinds.
func (schemaCmd) Run(_ context.Context, _ *Config, s *streams) error {
	return printJSON(s.Out, reference.Schema(nodes.New(nodes.Deps{}), ""))
}
