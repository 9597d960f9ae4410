package admin

import (
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"sluice/flow"
	"sluice/flow/people"
	"sluice/handlers/api"
	"sluice/handlers/api/openapi"
	"sluice/handlers/passwords"
)

// userNames maps the Go types of responses to the names of their schemas in the OpenAPI
// document.
var userNames = map[reflect.Type]string{
	reflect.TypeFor[userObject](): "User",
	reflect.TypeFor[userList]():   "UserList",
}

// userRoutes returns the routes of users. Only the operator changes them: a key that could set a
// password, add an owner or remove a member could escalate its rights.
func (s *Server) userRoutes() api.Extension {
	return api.Extension{Names: userNames, Routes: []api.Route{{
		Method: get, Path: "/v1/users", Scopes: []flow.Scope{flow.ScopeAdmin}, Handle: s.listUsers,
		Role: flow.MemberViewer, Commands: []string{"user list"},
		Doc: openapi.Operation{ID: "listUsers", Tag: "Users", Summary: "List the people of the workspace",
			Text:     "Only for a key without a list of flows. People are changed in the dashboard or on the machine of the server.",
			Problems: []flow.Code{flow.CodeFlowNotAllowed},
			Answers:  openapi.OK("All members.", userList{})},
	},
		{Method: http.MethodPost, Path: "/v1/local/users", Operator: true, Handle: s.addUser, Role: flow.MemberOwner, Audit: []string{"member.add"}, Commands: []string{"user add"}},
		{Method: http.MethodDelete, Path: "/v1/local/users", Operator: true, Handle: s.removeUser, Role: flow.MemberOwner, Audit: []string{"member.remove"}, Commands: []string{"user remove"}},
		{Method: http.MethodPut, Path: "/v1/local/users/password", Operator: true, Handle: s.setPassword, Role: flow.MemberOwner, Audit: []string{"password.set"}, Commands: []string{"user password"}},
		{Method: http.MethodDelete, Path: "/v1/local/users/second-factor", Operator: true, Handle: s.resetFactor, Role: flow.MemberOwner, Audit: []string{"factor.reset"}, Commands: []string{"user reset-2fa"}},
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
	members, err := s.Store.ListMembers(c.Request().Context(), c.Key.WorkspaceID)
	if err != nil {
		return err
	}
	list := userList{Users: []userObject{}}
	for _, m := range members {
		list.Users = append(list.Users, userObject{m.UserID, m.Name, m.Email, m.Role, api.Time(m.JoinedAt)})
	}
	return c.WriteJSON(http.StatusOK, list)
}

// userRequest is the body of a request of the operator.
type userRequest struct {
	email, name, password string
	role                  flow.MemberRole
}

// userBody declares the body of a request of the operator.
var userBody = api.Body[userRequest]{Of: "a person", Fields: []api.Field[userRequest]{
	api.Member("email", "", api.TextType, func(of *userRequest) *string { return &of.email }),
	api.Member("name", "", api.TextType, func(of *userRequest) *string { return &of.name }),
	api.Member("password", "", api.TextType, func(of *userRequest) *string { return &of.password }),
	api.Member("role", "", api.Type[flow.MemberRole]{Schema: schema{"type": "string"}, Wanted: "owner, editor or viewer", As: asRole}, func(of *userRequest) *flow.MemberRole { return &of.role }),
}}

// readUser reads the body of a request of the operator.
func readUser(c *api.Call) (of userRequest, err error) {
	set, err := userBody.ReadFrom(c)
	if err != nil {
		return of, err
	}
	set(&of)
	of.email, of.name = strings.TrimSpace(of.email), strings.TrimSpace(of.name)
	return of, nil
}

// asRole reads the role of a member.
func asRole(v any) (flow.MemberRole, bool) {
	text, _ := v.(string)
	role := flow.MemberRole(text)
	return role, role == flow.MemberOwner || role == flow.MemberEditor || role == flow.MemberViewer
}

// hashPassword checks a password by the rules of the sign-up page and returns its hash.
func hashPassword(password, email string) (string, error) {
	problem := flow.Problem{Pointer: "/password", Code: "required", Detail: "A new account needs a password."}
	if password != "" {
		problem.Code, problem.Detail = "invalid", passwords.Check(password, email)
	}
	if problem.Detail != "" {
		return "", &flow.Error{Code: flow.CodeInputInvalid, Message: problem.Detail, Fields: []flow.Problem{problem}}
	}
	hash, err := passwords.Hash(password)
	if err != nil {
		return "", fmt.Errorf("hash the password: %w", err)
	}
	return hash, nil
}

// addUser is POST local/users. An existing account keeps its password and name; only its membership
// is added. An error with the pointer /password and the code required means that there is no
// account yet.
func (s *Server) addUser(c *api.Call) error {
	of, err := readUser(c)
	if err != nil {
		return err
	}
	u, err := s.Store.FindUserByEmail(c.Request().Context(), of.email)
	if flow.IsNotFound(err) {
		u = &flow.User{Email: of.email, Name: cmp.Or(of.name, of.email)}
		u.PasswordHash, err = hashPassword(of.password, of.email)
	}
	if err != nil {
		return err
	}
	if err := s.members.Add(c.Request().Context(), c.Actor(), c.Key.WorkspaceID, u, of.role); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// findMember returns the member of the workspace with an email address.
func (s *Server) findMember(c *api.Call, email string) (*flow.Member, error) {
	members, err := s.Store.ListMembers(c.Request().Context(), c.Key.WorkspaceID)
	if err != nil {
		return nil, err
	}
	for i := range members {
		if strings.EqualFold(members[i].Email, strings.TrimSpace(email)) {
			return &members[i], nil
		}
	}
	return nil, flow.Errorf(flow.CodeInputInvalid, "This workspace has no member with the email address %s; 'sluice user list' lists the people.", email)
}

// removeUser is DELETE local/users?email=&keys_to=. The account stays, for other workspaces.
func (s *Server) removeUser(c *api.Call) error {
	q, err := c.QueryTexts("email", "keys_to")
	if err != nil {
		return err
	}
	m, err := s.findMember(c, q["email"])
	if err != nil {
		return err
	}
	handover := flow.KeyHandover{By: c.Actor()}
	if q["keys_to"] != "" {
		heir, err := s.findMember(c, q["keys_to"])
		if err != nil {
			return err
		}
		handover.HeirID = heir.UserID
	}
	if err := s.members.Remove(c.Request().Context(), c.Actor(), m, handover); err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, map[string]string{"email": m.Email})
}

// setPassword is PUT local/users/password.
func (s *Server) setPassword(c *api.Call) error {
	of, err := readUser(c)
	if err != nil {
		return err
	}
	m, err := s.findMember(c, of.email)
	if err != nil {
		return err
	}
	hash, err := hashPassword(of.password, m.Email)
	if err != nil {
		return err
	}
	if err := s.members.SetPassword(c.Request().Context(), c.Actor(), m, hash, ""); err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, map[string]string{"email": m.Email})
}

// resetFactor is DELETE local/users/second-factor?email=. The password stays.
func (s *Server) resetFactor(c *api.Call) error {
	q, err := c.QueryTexts("email")
	if err != nil {
		return err
	}
	m, err := s.findMember(c, q["email"])
	if err != nil {
		return err
	}
	factors := people.Factors{Store: s.Store}
	err = factors.Reset(c.Request().Context(), c.Actor(), m)
	if flow.IsNotFound(err) {
		return flow.Errorf(flow.CodeInputInvalid, "Two-step sign-in of %s is already off.", m.Email)
	}
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, map[string]string{"email": m.Email})
}
