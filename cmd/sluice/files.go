package main

import (
	"context"
	"fmt"

	"sluice/db"
	"sluice/flow"
)

// filesCmd has the commands for the content of files.
type filesCmd struct {
	Move filesMoveCmd `cmd:"" help:"Move the content of files to the object storage in SLUICE_FILES, or back. Safe to run while servers are up."`
}

// filesMoveCmd moves the content of files. Servers find each content before and after its move.
type filesMoveCmd struct {
	To   string `default:"storage" enum:"storage,database" help:"storage: to the object storage in SLUICE_FILES. database: back to the data directory, or the database on PostgreSQL; set readonly=true in SLUICE_FILES of all servers before."`
	JSON bool   `help:"Print what was moved as JSON."`
}

// RunOn moves all contents. If it is interrupted, another call continues.
func (c filesMoveCmd) RunOn(ctx context.Context, _ *Config, store *db.Store, s *streams) error {
	n, err := store.MoveFiles(ctx, c.To == "storage")
	if err != nil {
		return err
	}
	if c.JSON {
		err = printJSON(s.Out, n)
	} else {
		fmt.Fprintf(s.Out, "Moved %s (%s).\n", count(n.Contents, "content", "contents"), flow.Size(n.Bytes))
	}
	if err == nil && n.Failed > 0 {
		err = fmt.Errorf("%s could not be moved and stayed where they are; the log above says why", count(n.Failed, "content", "contents"))
	}
	return err
}
