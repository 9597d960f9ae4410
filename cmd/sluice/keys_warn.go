package main

import (
	"context"
	"log/slog"
	"time"

	"sluice/db"
	"sluice/flow"
)

// warnEvery is how often keys that expire soon are logged.
const warnEvery = 24 * time.Hour

// warnExpiringKeys logs at start and then daily which keys in use expire soon. An expired
// key stops the program that uses it, so the log is often the only early warning.
func (a *app) warnExpiringKeys(ctx context.Context) {
	for {
		if err := logExpiringKeys(ctx, a.store, a.log, a.store.Now()); err != nil && ctx.Err() == nil {
			a.log.Warn("cannot list the keys that expire soon", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(warnEvery):
		}
	}
}

// logExpiringKeys logs the keys that expire within flow.KeyWarning. It omits keys that were
// never used, since nothing breaks when they expire.
func logExpiringKeys(ctx context.Context, store *db.Store, log *slog.Logger, now time.Time) error {
	keys, err := store.ListKeysEnding(ctx, now, now.Add(flow.KeyWarning))
	if err != nil {
		return err
	}
	for i := range keys {
		if k := &keys[i]; k.Uses > 0 {
			log.Warn("a key in use expires soon; rotate it or choose a later date", "key", k.Prefix+"…", "name", k.Name, "id", k.ID, "workspace", k.WorkspaceID, "expires", k.ExpiresAt)
		}
	}
	return nil
}
