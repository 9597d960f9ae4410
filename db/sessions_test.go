package db_test

import (
	"testing"
	"time"

	"sluice/flow"
)

// session signs a user in for an hour.
func (w *fixture) session(token, userID string) *flow.Session {
	w.t.Helper()
	now := w.clock.Now()
	one := &flow.Session{
		TokenHash: token, ID: "sess_" + token, UserID: userID, IP: "192.0.2.1", Agent: "Firefox",
		SignedInAt: now, SeenAt: now, ExpiresAt: now.Add(time.Hour), Data: []byte{0, 1},
	}
	w.must(w.SaveSession(w.ctx, one))
	return one
}

func TestSessions(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.session("a", "user_a")
		w.session("b", "user_a")
		w.session("c", "user_b")
		got, err := w.FindSession(w.ctx, "a")
		w.must(err)
		wantEqual(t, "data", got.Data[1], 1)
		w.must(w.TouchSession(w.ctx, "a", "192.0.2.9", w.clock.Now(), w.clock.Now().Add(2*time.Hour)))
		wantCode(t, w.EndSession(w.ctx, "user_a", "sess_c"), flow.CodeNotFound)
		w.clock.move(time.Hour)
		got, err = w.FindSession(w.ctx, "b")
		w.must(err)
		wantEqual(t, "over", got == nil, true)
		list, err := w.ListSessions(w.ctx, "user_a")
		w.must(err)
		wantEqual(t, "left", len(list), 1)
		wantEqual(t, "address", list[0].IP, "192.0.2.9")
		n, err := w.EndSessions(w.ctx, "user_a", "sess_a")
		w.must(err)
		wantEqual(t, "ended", n, 1) // the one that was over
		w.must(w.EndSession(w.ctx, "user_a", "sess_a"))
		w.must(w.DropSession(w.ctx, "c"))
		got, err = w.FindSession(w.ctx, "a")
		w.must(err)
		wantEqual(t, "ended", got == nil, true)
	})
}
