package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"sluice/cmd/sluice/client"
	"sluice/cmd/sluice/remote"
	"sluice/db"
	"sluice/flow"
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

// RunOn removes the person.
func (c userRemoveCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	m, err := findPerson(ctx, store, cfg.workspace(), c.Email)
	if err != nil {
		return err
	}
	handover := flow.KeyHandover{By: flow.Actor{ID: "cli"}}
	if c.KeysTo != "" {
		heir, err := findPerson(ctx, store, cfg.workspace(), c.KeysTo)
		if err != nil {
			return err
		}
		handover.HeirID = heir.UserID
	}
	err = store.InTransaction(ctx, func(ctx context.Context) error {
		if err := store.RemoveMember(ctx, m.WorkspaceID, m.UserID, handover); err != nil {
			return err
		}
		return store.Audit(ctx, m.WorkspaceID, "cli", "member.remove", m.Email, "")
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s is no longer a member.\n", m.Email)
	return err
}

// userPasswordCmd sets the password of a person who forgot it. The operator of the server
// may do so for every account.
type userPasswordCmd struct {
	Email string `arg:"" help:"Email address of the person."`
	newPassword
}

// RunOn sets the password.
func (c userPasswordCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	m, err := findPerson(ctx, store, cfg.workspace(), c.Email)
	if err != nil {
		return err
	}
	hash, err := c.hash(s, m.Email)
	if err != nil {
		return err
	}
	err = store.InTransaction(ctx, func(ctx context.Context) error {
		if err := store.SetPassword(ctx, m.UserID, hash, ""); err != nil {
			return err
		}
		return store.Audit(ctx, m.WorkspaceID, "cli", "password.set", m.Email, "")
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "The password of %s is set; their sessions have ended.\n", m.Email)
	return err
}

// findPerson returns the member of a workspace with an email address.
func findPerson(ctx context.Context, store *db.Store, ws flow.WorkspaceID, email string) (*flow.Member, error) {
	members, err := store.ListMembers(ctx, ws)
	if err != nil {
		return nil, err
	}
	for i := range members {
		if strings.EqualFold(members[i].Email, strings.TrimSpace(email)) {
			return &members[i], nil
		}
	}
	return nil, fmt.Errorf("this workspace has no member with the email address %s; 'sluice user list' lists the people", email)
}

// errUsersOverHTTP is returned by commands that change people if a server is configured. It is
// a usage error, because the command works on the server's machine.
const errUsersOverHTTP = usageError("people are not managed over HTTP: a key that could set passwords or make owners would gain more than its own rights; run this on the machine of the server, with its SLUICE_DATA_DIR or DATABASE_URL and without --server and SLUICE_URL")

// RunAPI refuses: a key could otherwise make an owner; see errPeople.
func (userAddCmd) RunAPI(context.Context, *client.Client, *streams) error {
	return errUsersOverHTTP
}

// RunAPI refuses: a key could otherwise remove the owners; see errPeople.
func (userRemoveCmd) RunAPI(context.Context, *client.Client, *streams) error {
	return errUsersOverHTTP
}

// RunAPI refuses: a key could otherwise sign in as an owner; see errPeople.
func (userPasswordCmd) RunAPI(context.Context, *client.Client, *streams) error {
	return errUsersOverHTTP
}
