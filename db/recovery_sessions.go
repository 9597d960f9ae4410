package db

import (
	"context"
	"fmt"

	"sluice/db/dbconn"
)

// endSessions ends the database sessions of silent instances, whose frozen
// transactions would hold locks that the takeover needs. It finds them by their
// application name; sessions of live instances, of other databases and of other
// roles are not affected. The statement checks the heartbeat again, because the
// instance may have continued.
func (s Recovery) endSessions(ctx context.Context, silent []string, since int64) error {
	const end = `SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity a
		WHERE right(a.application_name, length($1)) = $1 AND a.datname = current_database() AND a.usename = current_user
		AND a.pid <> pg_backend_pid() AND NOT EXISTS (SELECT 1 FROM instances i WHERE i.id = $2 AND i.heartbeat_at > $3)`
	for _, id := range silent {
		if id == "" || id == s.Holder() {
			continue
		}
		var ended int
		if err := s.Vital.DBTX.QueryRowContext(ctx, end, dbconn.SessionSuffix(id), id, since).Scan(&ended); err != nil {
			return fmt.Errorf("end the database sessions of %s: %w", id, err)
		}
		if ended > 0 {
			s.Config.Log.Warn("ended the database sessions of an instance that is silent", "instance", id, "sessions", ended)
		}
	}
	return nil
}
