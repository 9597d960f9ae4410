// Package account is how people come in and what is theirs: set-up, sign-in and
// sign-up, passwords, sessions, invitations, members and workspaces. It knows
// nothing of flows.
package account

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"sluice/flow"
	"sluice/handlers/web"
)

// Store is what the room reads and changes. What is missing is an Error of
// CodeNotFound.
type Store interface {
	AcceptInvite(ctx context.Context, tokenHash string, u *flow.User) (*flow.Invite, error)
	AddAudit(ctx context.Context, e flow.AuditEntry) error
	CreateInvite(ctx context.Context, tokenHash string, i *flow.Invite) error
	EndSession(ctx context.Context, userID, id string) error
	EndSessions(ctx context.Context, userID, exceptID string) (int64, error)
	FindInvite(ctx context.Context, tokenHash string) (*flow.Invite, error)
	FindMember(ctx context.Context, ws, userID string) (*flow.Member, error)
	FindUser(ctx context.Context, id string) (*flow.User, error)
	FindUserByEmail(ctx context.Context, email string) (*flow.User, error)
	FindWorkspace(ctx context.Context, id string) (*flow.Workspace, error)
	ForgiveTry(ctx context.Context, account, address string) error
	FoundWorkspace(ctx context.Context, w *flow.Workspace, ownerID string) error
	HasUsers(ctx context.Context) (bool, error)
	IsSetUpToken(ctx context.Context, tokenHash string) (bool, error)
	ListInvites(ctx context.Context, ws string) ([]flow.Invite, error)
	ListKeys(ctx context.Context, ws string) ([]flow.Key, error)
	ListMembers(ctx context.Context, ws string) ([]flow.Member, error)
	ListMemberships(ctx context.Context, userID string) ([]flow.Member, error)
	ListSessions(ctx context.Context, userID string) ([]flow.Session, error)
	RemoveMember(ctx context.Context, ws, userID string, keys flow.KeyFate) error
	RenameWorkspace(ctx context.Context, ws, name string) error
	ResetPassword(ctx context.Context, tokenHash, passwordHash string) (*flow.Invite, error)
	RevokeInvite(ctx context.Context, ws, id string) error
	SetPassword(ctx context.Context, userID, passwordHash, exceptSession string) error
	SetRole(ctx context.Context, ws, userID string, role flow.MemberRole, keys flow.KeyFate) error
	SetUp(ctx context.Context, tokenHash string, u *flow.User, workspace string) error
	SignUp(ctx context.Context, u *flow.User, w *flow.Workspace) error
	TakeTry(ctx context.Context, tries ...flow.Try) (wait time.Duration, err error)
}

// Config is what the room needs beside the site.
type Config struct {
	Store Store
	// Welcome gives a workspace its first flows, unless it had some, and returns
	// the one to show first; "" when there is none.
	Welcome func(ctx context.Context, ws string) (flowID string, err error)
}

// Server is the room.
type Server struct {
	*web.Site
	Config
	owned atomic.Bool // somebody has an account
}

// New returns the room of a site. Its routes still have to be mounted.
func New(site *web.Site, cfg Config) *Server {
	return &Server{Site: site, Config: cfg}
}

// call is one request to this room.
type call struct {
	*web.Call
	s *Server
}

func (s *Server) newCall(c *web.Call) *call { return &call{c, s} }

// route is a line of the room's table of routes.
type route struct {
	method, path string
	access       web.Access
	handle       func(*call) error
}

// Routes returns the routes of the room.
func (s *Server) Routes() []web.Route {
	table := slices.Concat(
		s.setUpRoutes(),
		s.signInRoutes(),
		s.signUpRoutes(),
		s.passwordRoutes(),
		s.inviteRoutes(),
		s.settingsRoutes(),
		s.memberRoutes(),
		s.sessionRoutes(),
		s.workspaceRoutes(),
	)
	list := make([]web.Route, len(table))
	for i, r := range table {
		list[i] = web.Route{Method: r.method, Path: r.path, Access: r.access, Handle: func(c *web.Call) error { return r.handle(s.newCall(c)) }}
	}
	return list
}
