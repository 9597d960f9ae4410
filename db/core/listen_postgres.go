package core

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"sluice/db/dbconn"
	"sluice/flow"
)

// runChannel carries the IDs of runs that were written.
const runChannel = "sluice_run"

// listenCheck is how long the listening connection may be silent before it is
// pinged. When a proxy or a firewall drops the connection, notifications are lost
// without an error.
const listenCheck = 15 * time.Second

// Listen calls onRun with the ID of every run that any instance writes,
// FlowEdited for every draft that any instance changes, and OnBroadcast for
// messages of other instances, until ctx ends. Each time it connects, it calls
// the first two with empty IDs, because notifications may have been missed. On
// SQLite it only waits for ctx: there is one process, which notifies itself.
func (s *DB) Listen(ctx context.Context, onRun func(runID flow.RunID)) error {
	for s.IsPostgres() && ctx.Err() == nil {
		if err := s.listen(ctx, onRun); ctx.Err() == nil {
			s.Config.Log.Warn("listening for runs was interrupted", "error", err)
			dbconn.Pause(ctx, time.Second)
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

// listen listens on a dedicated connection outside of the pools.
func (s *DB) listen(ctx context.Context, onRun func(flow.RunID)) error {
	conn, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, channel := range []string{runChannel, EditChannel, broadcastChannel} {
		if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
			return err
		}
	}
	s.changes.Add(1)
	onRun("")
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
			s.onEdited(n.Payload)
		case n.Channel == broadcastChannel:
			s.onBroadcast(n.Payload)
		default:
			onRun(flow.RunID(n.Payload))
		}
	}
}

// dial opens a connection outside of the pools.
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

// waitForNotification returns nil without an error if there was no notification
// for a while and the connection still works.
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
