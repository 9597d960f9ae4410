package web

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sluice/db"
	"sluice/flow"
	"sluice/views/layout"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
)

// sessionTouch is the shortest interval between records of the use of a
// session, because each write goes to disk.
const sessionTouch = time.Minute

// What a session holds.
const (
	SessionUser      = "user"      // ID of the person
	SessionWorkspace = "workspace" // ID of the workspace that they work in
	SessionRole      = "role"      // their role when the token was made
	sessionID        = "id"
	sessionBegan     = "began" // microseconds
	sessionIP        = "ip"
	sessionAgent     = "agent"
)

func init() { gob.Register([]layout.Toast{}) }

// newSessions makes the manager of sessions. The cookie's name binds it to this
// host where the connection is encrypted. The manager's own idle time would
// write at every request, so the keeper holds ours.
func (s *Site) newSessions() *scs.SessionManager {
	m := scs.New()
	m.Store = sessionKeeper{s.Store, s.Now, s.SessionIdle, s.SessionMax}
	m.HashTokenInStore = true
	m.Lifetime = s.SessionMax
	m.Cookie.SameSite, m.Cookie.HttpOnly, m.Cookie.Path = http.SameSiteLaxMode, true, "/"
	m.Cookie.Name = "sluice_session"
	if s.Encrypted() {
		m.Cookie.Name, m.Cookie.Secure = "__Host-session", true
	}
	m.ErrorFunc = func(w http.ResponseWriter, r *http.Request, err error) {
		for _, name := range []string{"Location", "HX-Redirect"} { // the handler's answer
			w.Header().Del(name)
		}
		s.Fail(fmt.Errorf("session: %w", err), s.echo.NewContext(r, w))
		if answer, ok := w.(*sealableWriter); ok {
			answer.sealed = true
		}
	}
	return m
}

// sealableWriter drops everything that is written after it was sealed. The
// session manager stores a session when the handler begins to answer; if that
// fails, an error page is sent in place of the handler's answer.
type sealableWriter struct {
	http.ResponseWriter
	sealed bool
}

// WriteHeader begins the answer.
func (w *sealableWriter) WriteHeader(status int) {
	if !w.sealed {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Write reports success for what it drops: the handler did nothing wrong.
func (w *sealableWriter) Write(b []byte) (int, error) {
	if w.sealed {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *sealableWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (s *Site) Encrypted() bool { return strings.HasPrefix(s.PublicURL, "https://") }

// unsafe tells that cookies cross a network unencrypted.
func (s *Site) unsafe() bool {
	u, err := url.Parse(s.PublicURL)
	return !s.Encrypted() && (s.Exposed || err == nil && !loopback(u.Hostname()))
}

// StartSession signs a person in under a fresh token, so that one that was planted
// before is worth nothing.
func (c *Call) StartSession(userID, ws string) error {
	m := c.s.Sessions
	if err := m.Clear(c.Ctx()); err != nil {
		return fmt.Errorf("clear the session: %w", err)
	}
	if err := m.RenewToken(c.Ctx()); err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	for name, value := range map[string]any{
		sessionID: c.s.IDs.New(flow.PrefixSession), SessionUser: userID, SessionWorkspace: ws, sessionBegan: c.s.Now().UnixMicro(),
		sessionIP: c.IP(), sessionAgent: DeviceName(c.Request().UserAgent()),
	} {
		m.Put(c.Ctx(), name, value)
	}
	if err := c.Identify(); err != nil && !errors.Is(err, ErrNoWorkspace) {
		return err
	}
	m.Put(c.Ctx(), SessionRole, string(c.Member.Role))
	c.KeepWorkspace()
	return nil
}

// SessionID of the browser that asks.
func (c *Call) SessionID() string { return c.s.Sessions.GetString(c.Ctx(), sessionID) }

// Identify finds out who asks: the session's person, with the role that they
// have now. Who was taken out of the workspace goes on in another.
func (c *Call) Identify() error {
	m := c.s.Sessions
	user := m.GetString(c.Ctx(), SessionUser)
	if user == "" {
		return ErrSignedOut
	}
	found, err := c.s.Store.FindMember(c.Ctx(), m.GetString(c.Ctx(), SessionWorkspace), user)
	if errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
		return c.switchWorkspace(user)
	}
	if err != nil {
		return fmt.Errorf("find who is signed in: %w", err)
	}
	c.Member = found
	return c.followRole()
}

// followRole takes a new token when the rights have changed since the last. A
// request for a part of a page leaves that to the next page, lest requests that
// are under way beside it lose theirs.
func (c *Call) followRole() error {
	m, role := c.s.Sessions, string(c.Member.Role)
	if was := m.GetString(c.Ctx(), SessionRole); was == "" || was == role || c.Request().Header.Get("HX-Request") != "" || !c.wantsPage() {
		return nil
	}
	if err := c.RenewToken(); err != nil {
		return err
	}
	m.Put(c.Ctx(), SessionRole, role)
	return nil
}

// RenewToken takes a new token for the session, unless that was ended while the
// request was under way.
func (c *Call) RenewToken() error {
	if err := c.CheckSession(); err != nil {
		return err
	}
	if err := c.s.Sessions.RenewToken(c.Ctx()); err != nil {
		return fmt.Errorf("renew the session: %w", err)
	}
	return nil
}

// wantsPage tells that a browser goes to a page, rather than that a script asks.
func (c *Call) wantsPage() bool {
	mode := c.Request().Header.Get("Sec-Fetch-Mode")
	return c.Request().Method == http.MethodGet && (mode == "navigate" || mode == "")
}

// switchWorkspace moves a person whose workspace is theirs no more to another. Who
// has none is known by name alone.
func (c *Call) switchWorkspace(user string) error {
	list, err := c.s.Store.ListMemberships(c.Ctx(), user)
	if err != nil {
		return fmt.Errorf("list the workspaces of %s: %w", user, err)
	}
	if len(list) > 0 {
		c.s.Sessions.Put(c.Ctx(), SessionWorkspace, list[0].WorkspaceID)
		return c.Identify()
	}
	u, err := c.s.Store.FindUser(c.Ctx(), user)
	if err != nil {
		return ErrSignedOut
	}
	c.Member = &flow.Member{UserID: u.ID, Name: u.Name, Email: u.Email}
	return ErrNoWorkspace
}

// sessionKeeper keeps the manager's sessions in our store.
type sessionKeeper struct {
	store     *db.Store
	now       func() time.Time
	idle, max time.Duration // how long a session lasts: without use, and in total
}

// until is when a session that is used now ends.
func (k sessionKeeper) until(began time.Time) time.Time {
	idle, end := k.now().Add(k.idle), began.Add(k.max)
	if end.Before(idle) {
		return end
	}
	return idle
}

// over reports whether a session has ended. The stored expiry was computed at
// the last use, possibly with longer settings than the current ones.
func (k sessionKeeper) over(one *flow.Session) bool {
	now := k.now()
	return one.UserID != "" && (!now.Before(one.SeenAt.Add(k.idle)) || !now.Before(one.SignedInAt.Add(k.max)))
}

// FindCtx returns the data of a session that is not over, and notes its use.
func (k sessionKeeper) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	one, err := k.store.FindSession(ctx, token)
	if one == nil || err != nil || k.over(one) {
		return nil, false, err
	}
	if now := k.now(); now.Sub(one.SeenAt) >= sessionTouch {
		if err := k.store.TouchSession(ctx, token, peerOf(ctx), now, k.until(one.SignedInAt)); err != nil {
			return nil, false, fmt.Errorf("note the use of a session: %w", err)
		}
	}
	if l := loadedOf(ctx); l != nil {
		l.token = token
	}
	return one.Data, true, nil
}

// anonymousLife is how long what a stranger was told is kept for the next page.
const anonymousLife = 10 * time.Minute

// CommitCtx stores a session beside whose it is, so that a person's sessions
// can be listed and ended.
func (k sessionKeeper) CommitCtx(ctx context.Context, token string, data []byte, _ time.Time) error {
	_, values, err := scs.GobCodec{}.Decode(data)
	if err != nil {
		return fmt.Errorf("read a session: %w", err)
	}
	text := func(name string) string { s, _ := values[name].(string); return s }
	began, _ := values[sessionBegan].(int64)
	one := &flow.Session{
		TokenHash: token, ID: text(sessionID), UserID: text(SessionUser), IP: text(sessionIP), Agent: text(sessionAgent),
		SignedInAt: time.UnixMicro(began), SeenAt: k.now(), ExpiresAt: k.until(time.UnixMicro(began)), Data: data,
	}
	if one.UserID == "" {
		one.ExpiresAt = k.now().Add(anonymousLife)
	}
	if l := loadedOf(ctx); l != nil && l.token == token {
		return k.store.KeepSession(ctx, one)
	}
	return k.store.SaveSession(ctx, one)
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

// How the stream of a builder page is kept.
const (
	Heartbeat   = 15 * time.Second // proxies cut what is silent for longer
	MemberCheck = time.Minute      // how long a stream may outlive a right, when nothing is sent
	NewsKept    = 32               // events that a slow reader may be behind
)

// CheckSession looks at the stored session. The request has its own in its context,
// which is as old as the stream, so another context it is.
func (c *Call) CheckSession() error {
	ctx, err := c.s.Sessions.Load(context.Background(), c.s.Sessions.Token(c.Ctx()))
	if err != nil {
		return fmt.Errorf("look at the session: %w", err)
	}
	if c.s.Sessions.GetString(ctx, SessionUser) != c.Member.UserID {
		return ErrSignedOut
	}
	return nil
}

// programs are those that act in nobody's name.
var programs = map[string]string{"cli": "the command line", "sluice": "Sluice"}

// UserNames tells who a user ID is, asking once for each.
func (c *Call) UserNames() func(id string) string {
	known := map[string]string{c.Member.UserID: "you"}
	return func(id string) string {
		if name, ok := known[id]; ok {
			return name
		}
		name := programs[id]
		if m, err := c.s.Store.FindMember(c.Ctx(), c.WorkspaceID(), id); err == nil {
			name = m.Name
		}
		if name == "" {
			name = "a former member"
		}
		known[id] = name
		return name
	}
}
