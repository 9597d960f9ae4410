package main

import (
	"context"
	"fmt"
)

type migrateCmd struct{}

// Run opens the store, which migrates the database.
func (migrateCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	store, err := createStore(ctx, cfg, s)
	if err != nil {
		return err
	}
	fmt.Fprintln(s.out, "The database is up to date.")
	return store.Close()
}
