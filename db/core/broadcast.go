package core

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"sluice/flow"
)

// broadcastChannel carries messages between instances that are not stored: who
// has a flow open, which call was canceled.
const broadcastChannel = "sluice_news"

// maxBroadcast is the maximum size of a message in bytes. PostgreSQL limits
// notifications to less than 8000.
const maxBroadcast = 7900

// Broadcast calls OnBroadcast of every other instance that is listening now.
// Delivery is at most once. The topic must not contain spaces. On SQLite there
// are no other instances, and Broadcast does nothing.
func (s *DB) Broadcast(ctx context.Context, topic, text string) error {
	if !s.IsPostgres() {
		return nil
	}
	payload := fmt.Sprintf("%s %s %s", s.source, topic, text)
	if len(payload) > maxBroadcast {
		return fmt.Errorf("broadcast %s: %d bytes are too many", topic, len(payload))
	}
	if _, err := s.Reader.ExecContext(ctx, "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)", broadcastChannel, payload); err != nil {
		return fmt.Errorf("broadcast %s: %w", topic, err)
	}
	return nil
}

// onBroadcast handles a message of Broadcast. It ignores those of this store.
func (s *DB) onBroadcast(payload string) {
	parts := strings.SplitN(payload, " ", 3)
	if len(parts) == 3 && parts[0] != s.source && parts[1] != changesTopic && s.OnBroadcast != nil {
		s.OnBroadcast(parts[1], parts[2])
	}
}

// Edited calls FlowEdited for a draft that has reached a revision.
func (s *DB) Edited(ws flow.WorkspaceID, flowID flow.FlowID, rev int64) {
	if s.FlowEdited != nil {
		s.FlowEdited(ws, flowID, rev)
	}
}

// onEdited handles a notification about an edited draft: revision, flow and
// workspace.
func (s *DB) onEdited(payload string) {
	parts := strings.SplitN(payload, " ", 3)
	if len(parts) != 3 {
		return
	}
	if rev, err := strconv.ParseInt(parts[0], 10, 64); err == nil {
		s.Edited(flow.WorkspaceID(parts[2]), flow.FlowID(parts[1]), rev)
	}
}

// EditChannel carries the drafts that were edited.
const EditChannel = "sluice_edit"
