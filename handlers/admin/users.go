package admin

import (
	"context"
	"net/http"
	"reflect"

	"sluice/flow"
	"sluice/handlers/api"
)

// UserStore lists the members of a workspace.
type UserStore interface {
	ListMembers(ctx context.Context, ws flow.WorkspaceID) ([]flow.Member, error)
}

// userNames maps the Go types of responses to the names of their schemas in the OpenAPI
// document.
var userNames = map[reflect.Type]string{
	reflect.TypeFor[userObject](): "User",
	reflect.TypeFor[userList]():   "UserList",
}

// userRoutes returns the routes of users, which only read: a key that could set a password, add an
// owner or remove a member could escalate its rights.
func (s *Server) userRoutes() []api.Route {
	return []api.Route{{
		Method: get, Path: "/v1/users", Scope: flow.ScopeAdmin, Handle: s.listUsers,
		ID: "listUsers", Tag: "Users", Summary: "List the people of the workspace",
		Text:     "Only for a key without a list of flows. People are changed in the dashboard or on the machine of the server.",
		Problems: []flow.Code{flow.CodeFlowNotAllowed},
		Status:   http.StatusOK, Answer: "All members.", JSON: userList{},
	}}
}

// userObject is the JSON of a member of the workspace.
type userObject struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Email    string          `json:"email"`
	Role     flow.MemberRole `json:"role" doc:"owner, editor or viewer."`
	JoinedAt api.Time        `json:"joined_at"`
}

// userList is the JSON of all members of the workspace.
type userList struct {
	Users []userObject `json:"users"`
}

// listUsers is GET users.
func (s *Server) listUsers(c *api.Call) error {
	if len(c.Key.Flows) > 0 {
		return flow.Errorf(flow.CodeFlowNotAllowed, "This key is limited to some flows. Use a key without a list of flows.")
	}
	members, err := s.store.ListMembers(c.Request().Context(), c.Key.WorkspaceID)
	if err != nil {
		return err
	}
	list := userList{Users: []userObject{}}
	for _, m := range members {
		list.Users = append(list.Users, userObject{m.UserID, m.Name, m.Email, m.Role, api.Time(m.JoinedAt)})
	}
	return c.WriteJSON(http.StatusOK, list)
}
