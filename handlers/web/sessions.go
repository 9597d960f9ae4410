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

// sessionTouchInterval is the minimum interval between two updates of the last use of a
// session, because each update is a write to disk.
const sessionTouchInterval = time.Minute

// Keys of the values in a session.
const (
	SessionUser      = "user"      // ID of the user
	SessionWorkspace = "workspace" // ID of the current workspace
	SessionRole      = "role"      // the role for which the token was issued
	SessionMethod    = "method"    // how the user signed in: a Method
	SessionIDToken   = "id_token"  // of the identity provider, for signing out there; may be missing
	sessionID        = "id"
	sessionBegan     = "began" // microseconds
	sessionIP        = "ip"
	sessionAgent     = "agent"
)

// How a user signed in. The method of an identity provider is "oidc:" and the ID of the provider.
const (
	MethodPassword = "password"
	MethodCode     = "code" // password and second factor
	MethodProvider = "oidc:"
)

func init() { gob.Register([]layout.Toast{}) }

// newSessions returns the session manager. Over HTTPS the cookie has the __Host-
// prefix, so that other hosts cannot set it. The manager's own idle timeout would
// write at every request, so sessionStore implements it instead.
func (s *Site) newSessions() *scs.SessionManager {
	m := scs.New()
	m.Store = sessionStore{s.Store, s.Now, s.SessionIdle, s.SessionMax}
	m.HashTokenInStore = true
	m.Lifetime = s.SessionMax
	m.Cookie.SameSite, m.Cookie.HttpOnly, m.Cookie.Path = http.SameSiteLaxMode, true, "/"
	m.Cookie.Name = "sluice_session"
	if s.Encrypted() {
		m.Cookie.Name, m.Cookie.Secure = "__Host-session", true
	}
	m.ErrorFunc = func(w http.ResponseWriter, r *http.Request, err error) {
		for _, name := range []string{"Location", "HX-Redirect"} { // set by the handler
			w.Header().Del(name)
		}
		s.Fail(fmt.Errorf("session: %w", err), s.echo.NewContext(r, w))
		if answer, ok := w.(*sealableWriter); ok {
			answer.sealed = true
		}
	}
	return m
}

// sealableWriter drops everything that is written after it was sealed. The session
// manager stores a session when the handler starts to respond; if that fails, an
// error page is sent instead of the handler's response.
type sealableWriter struct {
	http.ResponseWriter
	sealed bool
}

// WriteHeader sends the status.
func (w *sealableWriter) WriteHeader(status int) {
	if !w.sealed {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Write reports success for dropped data, so that the handler sees no error.
func (w *sealableWriter) Write(b []byte) (int, error) {
	if w.sealed {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *sealableWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Encrypted reports whether browsers reach the site over HTTPS.
func (s *Site) Encrypted() bool { return strings.HasPrefix(s.PublicURL, "https://") }

// insecure reports whether cookies cross a network unencrypted. Pages show a warning then.
func (s *Site) insecure() bool {
	u, err := url.Parse(s.PublicURL)
	return !s.Encrypted() && (s.Exposed || err == nil && !IsLoopback(u.Hostname()))
}

// StartSession signs a user in. It issues a new token, against session fixation: an
// attacker may have planted the old one. method says how the user signed in.
func (c *Call) StartSession(userID string, ws flow.WorkspaceID, method string) error {
	m := c.s.Sessions
	if err := m.Clear(c.Ctx()); err != nil {
		return fmt.Errorf("clear the session: %w", err)
	}
	if err := m.RenewToken(c.Ctx()); err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	for name, value := range map[string]any{
		sessionID: c.s.IDs.New(flow.PrefixSession), SessionUser: userID, SessionWorkspace: string(ws), sessionBegan: c.s.Now().UnixMicro(),
		SessionMethod: method, sessionIP: c.IP(), sessionAgent: DeviceName(c.Request().UserAgent()),
	} {
		m.Put(c.Ctx(), name, value)
	}
	if err := c.Identify(); err != nil && !errors.Is(err, ErrNoWorkspace) {
		return err
	}
	m.Put(c.Ctx(), SessionRole, string(c.Member.Role))
	c.RememberWorkspace()
	return nil
}

// SessionID returns the ID of the session, or "".
func (c *Call) SessionID() string { return c.s.Sessions.GetString(c.Ctx(), sessionID) }

// UserOfSession returns the ID of the user whose session the request belongs to, or "".
func (c *Call) UserOfSession() string {
	user := c.s.Sessions.GetString(c.Ctx(), SessionUser)
	if user != "" && c.s.PasswordsOff && !c.keepsPassword(user) {
		return ""
	}
	return user
}

// Identify sets Member to the user of the session with the current role. A user who
// was removed from the workspace is moved to another.
func (c *Call) Identify() error {
	m := c.s.Sessions
	user := c.UserOfSession()
	if user == "" {
		return ErrSignedOut
	}
	found, err := c.s.Store.FindMember(c.Ctx(), flow.WorkspaceID(m.GetString(c.Ctx(), SessionWorkspace)), user)
	if flow.IsNotFound(err) {
		return c.switchWorkspace(user)
	}
	if err != nil {
		return fmt.Errorf("find the signed-in user: %w", err)
	}
	c.Member = found
	return c.followRole()
}

// keepsPassword reports whether the session of a user stays valid while passwords are turned off: that of a provider,
// or that of the owner who can always sign in with a password.
func (c *Call) keepsPassword(user string) bool {
	if strings.HasPrefix(c.s.Sessions.GetString(c.Ctx(), SessionMethod), MethodProvider) {
		return true
	}
	owner, err := c.s.Store.FirstPasswordOwner(c.Ctx())
	return err == nil && owner.ID == user
}

// LacksFactor reports whether the user signed in with only a password, and their role requires a second factor.
func (c *Call) LacksFactor() bool {
	method := c.s.Sessions.GetString(c.Ctx(), SessionMethod)
	return c.s.RequireFactor != "" && method != MethodCode && !strings.HasPrefix(method, MethodProvider) &&
		c.Member != nil && c.Member.Role.AtLeast(c.s.RequireFactor)
}

// followRole renews the token if the role has changed since it was issued. It does so only
// for pages: fragments are requested in parallel, and a new token would sign the others
// out.
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

// RenewToken issues a new token for the session, unless the session was ended during
// the request.
func (c *Call) RenewToken() error {
	if err := c.CheckSession(); err != nil {
		return err
	}
	if err := c.s.Sessions.RenewToken(c.Ctx()); err != nil {
		return fmt.Errorf("renew the session: %w", err)
	}
	return nil
}

// wantsPage reports whether the browser navigates to a page, as opposed to a request
// by a script.
func (c *Call) wantsPage() bool {
	mode := c.Request().Header.Get("Sec-Fetch-Mode")
	return c.Request().Method == http.MethodGet && (mode == "navigate" || mode == "")
}

// switchWorkspace picks another workspace when the user has lost access to the
// current one. Without any membership it only sets name and e-mail, and returns
// ErrNoWorkspace.
func (c *Call) switchWorkspace(user string) error {
	list, err := c.s.Store.ListMemberships(c.Ctx(), user)
	if err != nil {
		return fmt.Errorf("list the workspaces of %s: %w", user, err)
	}
	if len(list) > 0 {
		c.s.Sessions.Put(c.Ctx(), SessionWorkspace, string(list[0].WorkspaceID))
		return c.Identify()
	}
	u, err := c.s.Store.FindUser(c.Ctx(), user)
	if err != nil {
		return ErrSignedOut
	}
	c.Member = &flow.Member{UserID: u.ID, Name: u.Name, Email: u.Email}
	return ErrNoWorkspace
}

// sessionStore stores the sessions of the manager in the database. It implements
// scs.CtxStore and ends sessions that were not used for a while.
type sessionStore struct {
	store     *db.Store
	now       func() time.Time
	idle, max time.Duration // how long a session lasts: without use, and in total
}

// expiry returns when a session ends if it is not used after now.
func (k sessionStore) expiry(began time.Time) time.Time {
	idle, end := k.now().Add(k.idle), began.Add(k.max)
	if end.Before(idle) {
		return end
	}
	return idle
}

// expired reports whether a session has ended. The stored expiry was computed at
// the last use, possibly with longer settings than the current ones.
func (k sessionStore) expired(one *flow.Session) bool {
	now := k.now()
	return one.UserID != "" && (!now.Before(one.SeenAt.Add(k.idle)) || !now.Before(one.SignedInAt.Add(k.max)))
}

// FindCtx returns the data of a session that has not expired, and records its use.
func (k sessionStore) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	one, err := k.store.FindSession(ctx, token)
	if one == nil || err != nil || k.expired(one) {
		return nil, false, err
	}
	if now := k.now(); now.Sub(one.SeenAt) >= sessionTouchInterval {
		if err := k.store.TouchSession(ctx, token, peerOf(ctx), now, k.expiry(one.SignedInAt)); err != nil {
			return nil, false, fmt.Errorf("record the use of a session: %w", err)
		}
	}
	if l := requestSessionOf(ctx); l != nil {
		l.token = token
	}
	return one.Data, true, nil
}

// anonymousLifetime is how long the session of a signed-out visitor lasts. It only contains
// toasts for the next page.
const anonymousLifetime = 10 * time.Minute

// CommitCtx stores a session, with its user in a column, so that the sessions of a user can
// be listed and ended. A session that was loaded for this request is only updated, never
// inserted: if it was ended during the request, it stays ended.
func (k sessionStore) CommitCtx(ctx context.Context, token string, data []byte, _ time.Time) error {
	_, values, err := scs.GobCodec{}.Decode(data)
	if err != nil {
		return fmt.Errorf("read a session: %w", err)
	}
	text := func(name string) string { s, _ := values[name].(string); return s }
	began, _ := values[sessionBegan].(int64)
	one := &flow.Session{
		TokenHash: token, ID: text(sessionID), UserID: text(SessionUser), IP: text(sessionIP), Agent: text(sessionAgent),
		SignedInAt: time.UnixMicro(began), SeenAt: k.now(), ExpiresAt: k.expiry(time.UnixMicro(began)), Data: data,
	}
	if one.UserID == "" {
		one.ExpiresAt = k.now().Add(anonymousLifetime)
	}
	if l := requestSessionOf(ctx); l != nil && l.token == token {
		return k.store.KeepSession(ctx, one)
	}
	return k.store.SaveSession(ctx, one)
}

// DeleteCtx ends a session.
func (k sessionStore) DeleteCtx(ctx context.Context, token string) error {
	return k.store.DropSession(ctx, token)
}

// Find is FindCtx without a context. scs.Store requires it; the manager does not use
// it.
func (k sessionStore) Find(token string) ([]byte, bool, error) {
	return k.FindCtx(context.Background(), token)
}

// Commit is CommitCtx without a context.
func (k sessionStore) Commit(token string, data []byte, expiry time.Time) error {
	return k.CommitCtx(context.Background(), token, data, expiry)
}

// Delete is DeleteCtx without a context.
func (k sessionStore) Delete(token string) error { return k.DeleteCtx(context.Background(), token) }

// Parameters of the event stream of an editor page.
const (
	Heartbeat           = 15 * time.Second // proxies close connections that are idle for longer
	MemberCheckInterval = time.Minute      // between two checks of the role while no event is sent
	EventBuffer         = 32               // events that are buffered for a slow client
)

// CheckSession reloads the session and returns ErrSignedOut if it has ended. The
// session in the request context is as old as the request, which may be a stream, so
// it loads into a fresh context.
func (c *Call) CheckSession() error {
	ctx, err := c.s.Sessions.Load(context.Background(), c.s.Sessions.Token(c.Ctx()))
	if err != nil {
		return fmt.Errorf("reload the session: %w", err)
	}
	if c.s.Sessions.GetString(ctx, SessionUser) != c.Member.UserID {
		return ErrSignedOut
	}
	return nil
}

// programActors are the names of actors that are not users.
var programActors = map[string]string{"cli": "the command line", "sluice": "Sluice"}

// UserNames returns a function that finds the name of a user, key or program by its ID, for
// texts such as "changed by you". It looks up each ID once, and is not safe for concurrent use.
func (c *Call) UserNames() func(id string) string {
	known := map[string]string{c.Member.UserID: "you"}
	return func(id string) string {
		if name, ok := known[id]; ok {
			return name
		}
		name := programActors[id]
		if m, err := c.s.Store.FindMember(c.Ctx(), c.WorkspaceID(), id); err == nil {
			name = m.Name
		}
		if name == "" && strings.HasPrefix(id, flow.PrefixKey) {
			name = "a deleted key"
			if k, err := c.s.Store.FindKey(c.Ctx(), c.WorkspaceID(), id); err == nil {
				name = "the key “" + k.Name + "”"
			}
		}
		if name == "" {
			name = "a former member"
		}
		known[id] = name
		return name
	}
}
