package pages

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"

	"sluice/flow"
	"sluice/views"
)

// How long a session lasts: unused, and at all.
const (
	sessionIdle     = 7 * 24 * time.Hour
	sessionLifetime = 30 * 24 * time.Hour
)

// What a session holds.
const (
	sessionUser      = "user"      // ID of the person
	sessionWorkspace = "workspace" // ID of the workspace that they work in
)

func init() { gob.Register([]views.Toast{}) }

// sessionStore keeps sessions, by the hash of their token.
type sessionStore interface {
	FindSession(ctx context.Context, tokenHash string) (data []byte, found bool, err error)
	SaveSession(ctx context.Context, tokenHash, userID string, data []byte, expiresAt time.Time) error
	DropSession(ctx context.Context, tokenHash string) error
	FindMember(ctx context.Context, ws, userID string) (*flow.Member, error)
}

// newSessions makes the manager of sessions. The cookie's name binds it to this
// host where the connection is encrypted.
func (s *Server) newSessions() *scs.SessionManager {
	m := scs.New()
	m.Store = sessionKeeper{s.Store}
	m.HashTokenInStore = true
	m.IdleTimeout, m.Lifetime = sessionIdle, sessionLifetime
	m.Cookie.SameSite, m.Cookie.HttpOnly, m.Cookie.Path = http.SameSiteLaxMode, true, "/"
	m.Cookie.Name = "sluice_session"
	if strings.HasPrefix(s.PublicURL, "https://") {
		m.Cookie.Name, m.Cookie.Secure = "__Host-session", true
	}
	m.ErrorFunc = func(w http.ResponseWriter, r *http.Request, err error) {
		s.fail(fmt.Errorf("session: %w", err), s.echo.NewContext(r, w))
	}
	return m
}

// identify finds out who asks: the session's person, with the role that they
// have now.
func (c *call) identify() error {
	user := c.s.sessions.GetString(c.ctx(), sessionUser)
	if user == "" {
		return errSignedOut
	}
	m, err := c.s.Store.FindMember(c.ctx(), c.s.sessions.GetString(c.ctx(), sessionWorkspace), user)
	if errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
		return errSignedOut
	}
	if err != nil {
		return fmt.Errorf("find who is signed in: %w", err)
	}
	c.member = m
	return nil
}

// sessionKeeper keeps the manager's sessions in our store.
type sessionKeeper struct{ store sessionStore }

// FindCtx returns the data of a session that is not over.
func (k sessionKeeper) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	return k.store.FindSession(ctx, token)
}

// CommitCtx stores a session beside whose it is, so that a person's sessions
// can be listed and ended.
func (k sessionKeeper) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	_, values, err := scs.GobCodec{}.Decode(data)
	if err != nil {
		return fmt.Errorf("read a session: %w", err)
	}
	user, _ := values[sessionUser].(string)
	return k.store.SaveSession(ctx, token, user, data, expiry)
}

// DeleteCtx ends a session.
func (k sessionKeeper) DeleteCtx(ctx context.Context, token string) error {
	return k.store.DropSession(ctx, token)
}

// Find, Commit and Delete are what the manager asks of a store without
// contexts; it uses those above.
func (k sessionKeeper) Find(token string) ([]byte, bool, error) {
	return k.FindCtx(context.Background(), token)
}

// Commit is CommitCtx without a context.
func (k sessionKeeper) Commit(token string, data []byte, expiry time.Time) error {
	return k.CommitCtx(context.Background(), token, data, expiry)
}

// Delete is DeleteCtx without a context.
func (k sessionKeeper) Delete(token string) error { return k.DeleteCtx(context.Background(), token) }
