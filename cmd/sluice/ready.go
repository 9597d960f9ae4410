package main

import (
	"context"
	"fmt"

	"sluice/db"
)

type readyCmd struct{}

// Run asks what /readyz answers, for what starts containers and has no other
// program to ask with. It opens no database.
func (readyCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	info, running, err := db.ReadEngine(cfg.DataDir)
	if err != nil {
		return err
	}
	if !running {
		return fmt.Errorf("no server runs on %s; SLUICE_DATA_DIR says where it is", cfg.DataDir)
	}
	if answers(ctx, info.Addr, "/readyz") != nil {
		return fmt.Errorf("process %d has %s, and %s does not say that it is ready; look at its log", info.PID, cfg.DataDir, info.Addr)
	}
	_, err = fmt.Fprintf(s.out, "Ready at %s.\n", info.Addr)
	return err
}
