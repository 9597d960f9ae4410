package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"os"
	"strings"

	"golang.org/x/term"

	"sluice/db"
	"sluice/flow"
	"sluice/handlers/passwords"
)

// userCmd groups the commands for people.
type userCmd struct {
	Add      userAddCmd      `cmd:"" help:"Add a person without the browser, or a person who has an account to another workspace."`
	List     userListCmd     `cmd:"" help:"List the people of a workspace."`
	Remove   userRemoveCmd   `cmd:"" help:"Remove a person from a workspace, and revoke the keys that they created."`
	Password userPasswordCmd `cmd:"" help:"Set the password of a person, and end their sessions."`
}

// userAddCmd creates an account, or adds an existing account to a workspace. Servers that
// are set up without a browser get their first owner this way.
type userAddCmd struct {
	Email string `required:"" help:"Email address to sign in with."`
	Name  string `help:"Name of the person; default is the email address." placeholder:"NAME"`
	newPassword
	Role string `default:"owner" enum:"owner,editor,viewer" help:"owner, editor or viewer."`
}

// newPassword is how a command gets a password.
type newPassword struct {
	PasswordStdin bool `help:"Read the password from standard input instead of asking. It must have at least 10 characters and must not be common."`
}

// Run adds a person. An existing account keeps its password and name; only its
// membership is added.
func (c userAddCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	address, err := mail.ParseAddress(c.Email)
	if err != nil || address.Address != c.Email {
		return usageError(fmt.Sprintf("%q is not an email address; write it like ada@example.com", c.Email))
	}
	store, err := createStore(ctx, cfg, s)
	if err != nil {
		return err
	}
	defer store.Close()
	u, err := c.add(ctx, cfg, store, s)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "%s may sign in as %s.\n", c.Email, c.Role)
	return store.Audit(ctx, cfg.workspace(), "cli", "member.add", u.Email, c.Role)
}

// add finds or creates the account and adds it to the workspace.
func (c userAddCmd) add(ctx context.Context, cfg *Config, store *db.Store, s *streams) (*flow.User, error) {
	u, err := store.FindUserByEmail(ctx, c.Email)
	if err == nil {
		return u, c.addExisting(ctx, cfg, store, u)
	}
	if !flow.IsNotFound(err) {
		return nil, err
	}
	hash, err := c.hash(s, c.Email)
	if err != nil {
		return nil, err
	}
	u = &flow.User{Email: c.Email, Name: cmp.Or(strings.TrimSpace(c.Name), c.Email), PasswordHash: hash}
	return u, store.CreateUser(ctx, cfg.workspace(), u, flow.MemberRole(c.Role))
}

// addExisting adds an existing account to the workspace.
func (c userAddCmd) addExisting(ctx context.Context, cfg *Config, store *db.Store, u *flow.User) error {
	err := store.AddMember(ctx, cfg.workspace(), u.ID, flow.MemberRole(c.Role))
	if errors.Is(err, &flow.Error{Code: flow.CodeInputInvalid}) {
		return fmt.Errorf("there is already a person with the email address %s in this workspace", u.Email)
	}
	return err
}

// hash reads a password, checks it by the rules of the sign-up page (a minimum length and a
// list of common passwords) and returns its hash.
func (c newPassword) hash(s *streams, email string) (string, error) {
	text, err := c.read(s)
	if err != nil {
		return "", err
	}
	if wrong := passwords.Check(text, email); wrong != "" {
		return "", errors.New(uncapitalized(wrong))
	}
	hash, err := passwords.Hash(text)
	if err != nil {
		return "", fmt.Errorf("hash the password: %w", err)
	}
	return hash, nil
}

// read reads the password from standard input, or prompts for it on a terminal.
func (c newPassword) read(s *streams) (string, error) {
	if c.PasswordStdin {
		line, err := bufio.NewReader(io.LimitReader(s.In, 4096)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the password: %w", err)
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	f, ok := s.In.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return "", usageError("there is no terminal to prompt for the password; use --password-stdin")
	}
	fmt.Fprintln(s.Err, "Use at least 10 characters: four or more unrelated words, or a password manager.")
	fmt.Fprint(s.Err, "Password: ")
	text, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprintln(s.Err)
	return string(text), err
}
