package main

import (
	"context"
	"fmt"

	"sluice/db"
)

// readyCmd checks whether the server on this data directory accepts requests. A server
// that shuts down, or whose database is unavailable, is not ready.
type readyCmd struct{}

// Run requests /readyz. Container images without curl use it as their health check. It reads
// the address from the lock file and does not open the database, so it is cheap and works
// while the database is unavailable.
func (readyCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	info, running, err := db.ReadEngine(cfg.DataDir)
	if err != nil {
		return err
	}
	if !running {
		return fmt.Errorf("no server runs on %s; set SLUICE_DATA_DIR to the data directory of the server", cfg.DataDir)
	}
	if probe(ctx, info.Addr, "/readyz") != nil {
		return fmt.Errorf("process %d uses %s, but %s is not ready; see its log", info.PID, cfg.DataDir, info.Addr)
	}
	_, err = fmt.Fprintf(s.Out, "Ready at %s.\n", info.Addr)
	return err
}
