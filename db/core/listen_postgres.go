package core

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"sluice/db/dbconn"
)

// runChannel is where instances tell each other which run was written.
const runChannel = "sluice_run"

// listenCheck is how long the connection that listens may be silent before it
// is tried: notifications are lost without an error when a proxy or a firewall
// forgets it.
const listenCheck = 15 * time.Second

// Listen calls told with the ID of every run that any instance writes,
// FlowEdited with every draft that any instance changes, and Heard with what
// other instances tell, until ctx ends. On SQLite it only waits: one process
// writes there, and wakes its own waiters. Whenever it begins to hear, empty IDs
// say that anything may have been written before.
func (s *DB) Listen(ctx context.Context, told func(runID string)) error {
	for s.pool != nil && ctx.Err() == nil {
		if err := s.listen(ctx, told); ctx.Err() == nil {
			s.Config.Log.Warn("listening for runs was interrupted", "error", err)
			dbconn.Pause(ctx, time.Second)
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

// listen listens on a connection of its own, which is not of a pool: it must
// not serve others afterwards, nor wait for them.
func (s *DB) listen(ctx context.Context, told func(string)) error {
	conn, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, channel := range []string{runChannel, EditChannel, newsChannel} {
		if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
			return err
		}
	}
	s.changes.Add(1)
	told("")
	s.Edited("", "", 0)
	for {
		n, err := waitForNotification(ctx, conn)
		if err != nil {
			return err
		}
		if n != nil {
			s.changes.Add(1)
		}
		switch {
		case n == nil:
		case n.Channel == EditChannel:
			s.heardEdited(n.Payload)
		case n.Channel == newsChannel:
			s.heardNews(n.Payload)
		default:
			told(n.Payload)
		}
	}
}

// dial opens a connection that does not count as one of the pool.
func (s *DB) dial(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, s.connect)
	if err != nil {
		return nil, err
	}
	if err := s.sessions().Tune(s.connect)(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

// waitForNotification returns nil, after trying the connection, if there was
// no notification for a while.
func waitForNotification(ctx context.Context, conn *pgx.Conn) (*pgconn.Notification, error) {
	limited, cancel := context.WithTimeout(ctx, listenCheck)
	defer cancel()
	n, err := conn.WaitForNotification(limited)
	if err == nil || limited.Err() == nil || ctx.Err() != nil {
		return n, err
	}
	answer, cancel := context.WithTimeout(ctx, dbconn.ConnectTimeout)
	defer cancel()
	return nil, conn.Ping(answer)
}
