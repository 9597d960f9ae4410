package main

import (
	"context"
	"fmt"

	"sluice/db"
	"sluice/flow"
)

// compactCmd gives the space of erased data back to the disk. SQLite otherwise keeps it for new data.
type compactCmd struct {
	JSON bool `help:"Print the sizes as JSON."`
}

// RunOn compacts the database, in small steps if a server is running.
func (c compactCmd) RunOn(ctx context.Context, _ *Config, store *db.Store, s *streams) error {
	done, err := store.Compact(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(s.Out, done)
	}
	fmt.Fprintf(s.Out, "The database had %s and now has %s.\n", flow.Size(done.Before), flow.Size(done.After))
	return nil
}
