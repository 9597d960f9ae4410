package main

import (
	"context"
	"fmt"
)

// migrateCmd migrates the database without starting the server, for deployments that
// migrate in a step of their own. Opening the store does the same, so it is optional.
type migrateCmd struct{}

// Run opens the store, which migrates the database. On PostgreSQL, instances of the previous
// release may keep running during the migration; docs/upgrading.md has the steps.
func (migrateCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	store, err := createStore(ctx, cfg, s)
	if err != nil {
		return err
	}
	fmt.Fprintln(s.Out, "The database is up to date.")
	return store.Close()
}
