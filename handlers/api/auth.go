package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/caller"
	"sluice/flow/document"
	"sluice/handlers/web"
)

// WorkspaceHeader names the workspace of a request with the local token. Without it, the request
// is for the default workspace. It has no effect on requests with a key.
const WorkspaceHeader = "Sluice-Workspace"

// localKey returns the key of the command line on the same machine, which acts for the operator
// of the server. It has no ID, so its use is not recorded.
func localKey(h http.Header) *flow.Key {
	return &flow.Key{
		WorkspaceID: cmp.Or(flow.WorkspaceID(h.Get(WorkspaceHeader)), flow.DefaultWorkspace), Name: "command line", Trigger: flow.TriggerCLI, Scopes: flow.Scopes,
	}
}

// isLocal reports whether a request has the local token, which authenticates the command line on
// the same machine.
func (s *Server) isLocal(r *http.Request) bool {
	if _, acts := r.Context().Value(actingKey{}).(*flow.Key); acts || s.LocalToken == "" {
		return false
	}
	if _, sent := caller.Of(r.Context()); sent {
		return false // a run is not the command line
	}
	text, err := bearer(r.Header)
	return err == nil && subtle.ConstantTimeCompare([]byte(text), []byte(s.LocalToken)) == 1
}

// Operator reports whether the request comes from the command line on the same machine. It may do
// what no key may, because an account that can read the local token can also read the database.
func (c *Call) Operator() bool { return c.s.isLocal(c.Request()) }

// AllWorkspaces reports whether the request is for all workspaces: the operator has named none.
func (c *Call) AllWorkspaces() bool {
	return c.Operator() && c.Request().Header.Get(WorkspaceHeader) == ""
}

// authorize authenticates the key and checks, in this order, rate limit, scope and
// flow. For a start, the key may come from a cache (Key.Recent): accepting the run
// checks it again in the same transaction, which saves a query for each start. If
// the cached key is rejected here, its current state decides.
func (c *Call) authorize() error {
	r := c.Request()
	if keyInURL(r.URL) {
		return flow.Errorf(flow.CodeKeyInURL, "A key does not belong in a URL, where logs keep it. Send it as a header: Authorization: Bearer. Replace this key, as it may have been seen.")
	}
	if c.route.Link {
		if followed, err := c.followLink(); followed || err != nil {
			return err
		}
	}
	find := c.s.Store.FindKeyByHash
	if c.route.Recent {
		find = c.s.Store.RecentKey
	}
	key, err := c.s.findKeyWith(r, find)
	if err != nil && c.route.Recent {
		key, err = c.s.FindKey(r)
	}
	if err != nil {
		return c.rejectKey(err)
	}
	c.Key = key
	web.NoteCall(r.Context(), c.route.Path, key.ID)
	if err := c.limitRate(); err != nil {
		return err
	}
	c.s.uses.Add(key, web.RemoteIP(r), c.s.Now())
	if err := c.checkAccess(); err == nil || !c.Key.Recent {
		return err
	}
	return c.reauthorize()
}

// checkAccess checks that the key has one of the scopes and may call the flow of the path.
func (c *Call) checkAccess() error {
	if !slices.ContainsFunc(c.route.Scopes, c.Key.Has) {
		if sender, sent := caller.Of(c.Request().Context()); sent {
			return flow.Errorf(flow.CodeScopeMissing, "This request was sent by run %s of this server. Runs may start others, but not answer questions or change anything, whatever the key may do.", sender.RootRunID)
		}
		return ErrMissingScope(c.route.Scopes[0])
	}
	return c.checkFlow()
}

// reauthorize reads the current state of a cached key and repeats the checks.
func (c *Call) reauthorize() error {
	key, err := c.s.FindKey(c.Request())
	if err != nil {
		return c.rejectKey(err)
	}
	c.Key = key
	return c.checkAccess()
}

// ErrMissingScope returns the error for a key without a scope.
func ErrMissingScope(s flow.Scope) error {
	return flow.Errorf(flow.CodeScopeMissing, "This key lacks the scope %q.", s)
}

// actingKey is the context key of the flow.Key that ServeAs sets.
type actingKey struct{}

// ServeAs serves a request as if it had been sent with a key. The dashboard uses it to
// call the API for a signed-in user. The key need not be stored; the use of a key
// without an ID is not recorded.
func (s *Server) ServeAs(key *flow.Key, w http.ResponseWriter, r *http.Request) {
	s.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), actingKey{}, key)))
}

// FindKey returns the valid key in the Authorization header. It ignores cookies.
func (s *Server) FindKey(r *http.Request) (*flow.Key, error) {
	return s.findKeyWith(r, s.Store.FindKeyByHash)
}

// findKeyWith is FindKey with another function to find a key by its hash. The key of a request that a run has sent to its own
// server lacks the scopes that would let a flow answer its own questions, or change flows and settings.
func (s *Server) findKeyWith(r *http.Request, find func(ctx context.Context, hash string) (*flow.Key, error)) (*flow.Key, error) {
	key, err := givenKey(s, r, find)
	if _, sent := caller.Of(r.Context()); err != nil || !sent {
		return key, err
	}
	limited := *key
	limited.Scopes = slices.DeleteFunc(slices.Clone(key.Scopes), func(s flow.Scope) bool {
		return s == flow.ScopeApprove || s == flow.ScopeEdit || s == flow.ScopeAdmin
	})
	return &limited, nil
}

// givenKey returns the valid key of a request with all of its scopes.
func givenKey(s *Server, r *http.Request, find func(ctx context.Context, hash string) (*flow.Key, error)) (*flow.Key, error) {
	if key, ok := r.Context().Value(actingKey{}).(*flow.Key); ok {
		return key, nil
	}
	if s.isLocal(r) {
		return localKey(r.Header), nil
	}
	text, err := bearer(r.Header)
	if err != nil {
		return nil, err
	}
	invalid := flow.Errorf(flow.CodeKeyInvalid, "This is not a key of Sluice.")
	if !flow.ValidKeyText(text) { // a wrong checksum saves the query
		return nil, invalid
	}
	sum := sha256.Sum256([]byte(text))
	key, err := find(r.Context(), hex.EncodeToString(sum[:]))
	if flow.IsNotFound(err) {
		return nil, invalid
	}
	if err != nil {
		return nil, err
	}
	if err := key.Refusal(s.Now()); err != nil {
		return nil, err
	}
	return key, nil
}

// bearer returns the token of the Authorization header.
func bearer(h http.Header) (string, error) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", flow.Errorf(flow.CodeKeyMissing, "A key is required. Send it in a header: Authorization: Bearer slu_….")
	}
	scheme, text, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return "", flow.Errorf(flow.CodeKeyInvalid, "The Authorization header must read: Bearer slu_….")
	}
	return strings.TrimSpace(text), nil
}

// checkFlow checks that the key may call the flow of the path. It does not check that
// the flow exists if the key allows it; the handler will.
func (c *Call) checkFlow() error {
	name := c.Param("flow_id")
	if name == "" {
		return nil
	}
	var err error
	if c.flow, err = c.resolveFlow(name); err != nil {
		return err
	}
	return c.allowFlow(c.flow)
}

// resolveFlow returns the ID of the flow that a path names by its ID or slug. An ID
// is returned without checking that the flow exists. A former slug still names its
// flow; its uses are counted, so that users see which keys would lose it.
func (c *Call) resolveFlow(name string) (id flow.FlowID, err error) {
	if flow.ValidID(flow.PrefixFlow, name) {
		return flow.FlowID(name), nil
	}
	if !document.ValidSlug(name) {
		return "", errNotFound
	}
	id, former, err := c.s.Store.FindSlug(c.Request().Context(), c.Key.WorkspaceID, name)
	if err == nil && former && c.Key.Allows(id) {
		c.s.uses.AddAlias(c.Key, name, c.s.Now())
	}
	return id, err
}

// allow returns an error if the key may not call a flow: "not allowed" for a flow of
// the same workspace, "not found" for any other.
func (c *Call) allowFlow(flowID flow.FlowID) error {
	if c.Key.Allows(flowID) {
		return nil
	}
	if _, err := c.s.Store.FindFlow(c.Request().Context(), c.Key.WorkspaceID, flowID); err != nil {
		return err
	}
	return flow.Errorf(flow.CodeFlowNotAllowed, "This key may not call this flow.")
}

// keyInURL reports whether a URL contains a key, judging by the names of parameters and
// by the form of values.
func keyInURL(u *url.URL) bool {
	if u.RawQuery == "" {
		return web.ContainsKey(u.Path)
	}
	q := u.Query()
	plain, err := url.QueryUnescape(u.RawQuery)
	if err != nil {
		plain = u.RawQuery
	}
	return q.Has("key") || q.Has("api_key") || q.Has("access_token") || strings.Contains(plain, "slu_") || web.ContainsKey(u.Path)
}
