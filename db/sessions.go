package db

import (
	"context"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// Sessions are stored by the hash of their token, so that a copy of the database does
// not allow anyone to sign in. Their writes are relaxed except those that end a
// session: losing the last seconds of a session after a failure is harmless, but a
// session that was ended must not reappear.

// SaveSession stores a session under the hash of its token.
func (s *Sessions) SaveSession(ctx context.Context, session *flow.Session) error {
	data := session.Data
	if data == nil {
		data = []byte{}
	}
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		return tx.Queries.SaveSession(tx.Ctx, gen.SaveSessionParams{
			TokenHash: session.TokenHash, ID: session.ID, UserID: session.UserID, Ip: dbconn.ValidText(session.IP), Agent: dbconn.ValidText(session.Agent),
			SignedInAt: dbconn.Micros(session.SignedInAt), SeenAt: dbconn.Micros(session.SeenAt), ExpiresAt: dbconn.Micros(session.ExpiresAt), Data: data,
		})
	})
}

// KeepSession updates the data of a session unless the session was ended in the
// meantime: a concurrent request must not restore it.
func (s *Sessions) KeepSession(ctx context.Context, session *flow.Session) error {
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		return tx.Queries.KeepSession(tx.Ctx, gen.KeepSessionParams{
			TokenHash: session.TokenHash, UserID: session.UserID, SeenAt: dbconn.Micros(session.SeenAt), ExpiresAt: dbconn.Micros(session.ExpiresAt), Data: session.Data,
		})
	})
}

// FindSession returns a session that has not expired, or nil.
func (s *Sessions) FindSession(ctx context.Context, tokenHash string) (*flow.Session, error) {
	r, err := s.DB.Reads.FindSession(ctx, gen.FindSessionParams{TokenHash: tokenHash, Now: s.DB.NowMicros()})
	if dbconn.IsNoRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	one := sessionOf(r)
	return &one, nil
}

// TouchSession records that a session was used. It is not synced to disk.
func (s *Sessions) TouchSession(ctx context.Context, tokenHash, ip string, seen, expires time.Time) error {
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		return tx.Queries.TouchSession(tx.Ctx, gen.TouchSessionParams{TokenHash: tokenHash, Ip: dbconn.ValidText(ip), SeenAt: dbconn.Micros(seen), ExpiresAt: dbconn.Micros(expires)})
	})
}

// ListSessions returns the unexpired sessions of a user, newest first.
func (s *Sessions) ListSessions(ctx context.Context, userID string) ([]flow.Session, error) {
	rows, err := s.DB.Reads.ListSessions(ctx, gen.ListSessionsParams{UserID: userID, Now: s.DB.NowMicros()})
	return dbconn.MapRows(rows, sessionOf), err
}

// DropSession ends a session. The write is synced, so that the session cannot
// reappear after a failure of the machine.
func (s *Sessions) DropSession(ctx context.Context, tokenHash string) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error { return tx.Queries.DeleteSession(tx.Ctx, tokenHash) })
}

// EndSession ends a session of a user.
func (s *Sessions) EndSession(ctx context.Context, userID, id string) error {
	return s.DB.Update(ctx, "session", func(tx *core.Tx) (int64, error) {
		return tx.Queries.EndSession(tx.Ctx, gen.EndSessionParams{UserID: userID, ID: id})
	})
}

// EndSessions ends all sessions of a user except one, and returns their number.
func (s *Sessions) EndSessions(ctx context.Context, userID, exceptID string) (n int64, err error) {
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		n, err = tx.Queries.EndSessions(tx.Ctx, gen.EndSessionsParams{UserID: userID, ExceptID: exceptID})
		return err
	})
	return n, err
}

func sessionOf(r gen.Session) flow.Session {
	return flow.Session{
		TokenHash: r.TokenHash, ID: r.ID, UserID: r.UserID, IP: r.Ip, Agent: r.Agent,
		SignedInAt: dbconn.TimeOf(r.SignedInAt), SeenAt: dbconn.TimeOf(r.SeenAt), ExpiresAt: dbconn.TimeOf(r.ExpiresAt), Data: r.Data,
	}
}
