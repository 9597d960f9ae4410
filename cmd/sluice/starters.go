package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"sluice/flow"
)

//go:embed starters/*.json
var starters embed.FS

// addStarters gives a new workspace its first flows, published and ready to be
// called. A workspace that ever had a flow is left alone.
func (a *app) addStarters(ctx context.Context) error {
	had, err := a.store.HadFlows(ctx, flow.DefaultWorkspace)
	if err != nil || had {
		return err
	}
	files, err := fs.Glob(starters, "starters/*.json")
	if err != nil {
		return err
	}
	for _, name := range files {
		data, err := starters.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := a.library.Import(ctx, flow.DefaultWorkspace, "", data)
		if err != nil {
			return fmt.Errorf("add the starter flow %s: %w", name, err)
		}
		if _, _, err := a.library.Publish(ctx, flow.DefaultWorkspace, f.ID, "sluice"); err != nil {
			return fmt.Errorf("publish the starter flow %s: %w", name, err)
		}
	}
	return nil
}
