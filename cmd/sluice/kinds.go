package main

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"sluice/nodes"
)

type kindsCmd struct {
	JSON bool `help:"Print the full declarations as JSON."`
}

// Run prints the declarations of all node kinds.
func (c kindsCmd) Run(_ context.Context, _ *Config, s *streams) error {
	list := nodes.Describe(nodes.New(nodes.Deps{}))
	if c.JSON {
		enc := json.NewEncoder(s.out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(list)
	}
	w := tabwriter.NewWriter(s.out, 0, 4, 2, ' ', 0)
	for _, k := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\n", k.Kind, k.Group, k.Summary)
	}
	return w.Flush()
}
