package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"sluice/cmd/sluice/client"
	"sluice/cmd/sluice/remote"
)

// Removing people and setting passwords is possible only on the machine of the server: over
// HTTP, a key could take over an account and gain more than its own rights.

// userListCmd lists the people of a workspace.
type userListCmd struct {
	JSON bool `help:"Print as JSON."`
}

// RunAPI lists the people.
func (c userListCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	raw, err := api.Call(ctx, "GET", "/v1/users", nil)
	if err != nil {
		return err
	}
	if c.JSON {
		return remote.PrintRaw(s.Out, raw)
	}
	var list struct {
		Users []struct{ ID, Name, Email, Role string }
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	return table(s.Out, "ID\tEMAIL\tNAME\tROLE", list.Users, func(u *struct{ ID, Name, Email, Role string }) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s", u.ID, u.Email, orDash(u.Name), u.Role)
	})
}

// userRemoveCmd removes a person from a workspace. The account stays, for other workspaces.
type userRemoveCmd struct {
	Email  string `arg:"" help:"Email address of the person."`
	KeysTo string `name:"keys-to" help:"Hand the keys that the person created over to this editor or owner, instead of revoking them." placeholder:"EMAIL"`
}

// RunAPI removes the person.
func (c userRemoveCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	query := url.Values{"email": {c.Email}, "keys_to": {c.KeysTo}}
	m, err := fetch[userEmail](ctx, api, "DELETE", "/v1/local/users?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s is no longer a member.\n", m.Email)
	return err
}

// userEmail is the response to a change of a person.
type userEmail struct {
	Email string `json:"email"`
}

// userPasswordCmd sets the password of a person who forgot it. The operator of the server
// may do so for every account.
type userPasswordCmd struct {
	Email string `arg:"" help:"Email address of the person."`
	newPassword
}

// RunAPI sets the password.
func (c userPasswordCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	text, err := c.read(s)
	if err != nil {
		return err
	}
	m, err := fetch[userEmail](ctx, api, "PUT", "/v1/local/users/password", map[string]any{"email": c.Email, "password": text})
	if err != nil {
		return passwordError(err)
	}
	_, err = fmt.Fprintf(s.Out, "The password of %s is set; their sessions have ended.\n", m.Email)
	return err
}

// userReset2FACmd turns off the two-step sign-in of a person. The password stays.
type userReset2FACmd struct {
	Email string `arg:"" help:"Email address of the person."`
}

// RunAPI turns it off.
func (c userReset2FACmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	m, err := fetch[userEmail](ctx, api, "DELETE", "/v1/local/users/second-factor?"+url.Values{"email": {c.Email}}.Encode(), nil)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "Two-step sign-in of %s is off; their sessions have ended.\n", m.Email)
	return err
}

// errUsersOverHTTP is returned by commands that change people if a server is configured. It is
// a usage error, because the command works on the server's machine.
const errUsersOverHTTP = usageError("people are not managed over HTTP: a key that could set passwords or make owners would gain more than its own rights; run this on the machine of the server, with its SLUICE_DATA_DIR or DATABASE_URL and without --server and SLUICE_URL")

func (userAddCmd) overHTTP() error      { return errUsersOverHTTP }
func (userRemoveCmd) overHTTP() error   { return errUsersOverHTTP }
func (userPasswordCmd) overHTTP() error { return errUsersOverHTTP }
func (userReset2FACmd) overHTTP() error { return errUsersOverHTTP }
