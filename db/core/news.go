package core

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// newsChannel is where instances tell each other what no row says: who looks
// at a flow, which call was canceled.
const newsChannel = "sluice_news"

// maxNews bytes fit a notification of PostgreSQL, which must stay under 8000.
const maxNews = 7900

// TellOthers passes a text on to the Heard of every other instance, once: who
// does not listen at the moment never hears of it. A topic has no spaces. On
// SQLite there are no others.
func (s *DB) TellOthers(ctx context.Context, topic, text string) error {
	if s.pool == nil {
		return nil
	}
	payload := fmt.Sprintf("%s %s %s", s.source, topic, text)
	if len(payload) > maxNews {
		return fmt.Errorf("tell others of %s: %d bytes are too many", topic, len(payload))
	}
	if _, err := s.Reader.ExecContext(ctx, "SELECT pg_notify($1, $2)", newsChannel, payload); err != nil {
		return fmt.Errorf("tell others of %s: %w", topic, err)
	}
	return nil
}

// heardNews passes on what TellOthers of another instance said.
func (s *DB) heardNews(payload string) {
	parts := strings.SplitN(payload, " ", 3)
	if len(parts) == 3 && parts[0] != s.source && parts[1] != changesTopic && s.Heard != nil {
		s.Heard(parts[1], parts[2])
	}
}

// Edited tells this process that a draft has reached a revision.
func (s *DB) Edited(ws, flowID string, rev int64) {
	if s.FlowEdited != nil {
		s.FlowEdited(ws, flowID, rev)
	}
}

// heardEdited passes on what notifyEdited said.
func (s *DB) heardEdited(payload string) {
	parts := strings.SplitN(payload, " ", 3)
	if len(parts) != 3 {
		return
	}
	if rev, err := strconv.ParseInt(parts[0], 10, 64); err == nil {
		s.Edited(parts[2], parts[1], rev)
	}
}

// EditChannel is where instances tell each other which draft was edited.
const EditChannel = "sluice_edit"
