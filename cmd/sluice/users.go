package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"os"
	"strings"

	"golang.org/x/term"

	"sluice/cmd/sluice/client"
	"sluice/flow"
)

// userCmd groups the commands for people.
type userCmd struct {
	Add      userAddCmd      `cmd:"" help:"Add a person without the browser, or a person who has an account to another workspace."`
	List     userListCmd     `cmd:"" help:"List the people of a workspace."`
	Remove   userRemoveCmd   `cmd:"" help:"Remove a person from a workspace, and revoke the keys that they created."`
	Password userPasswordCmd `cmd:"" help:"Set the password of a person, and end their sessions."`
	Reset2FA userReset2FACmd `cmd:"" name:"reset-2fa" help:"Turn off the two-step sign-in of a person who lost the phone and the recovery codes, and end their sessions."`
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

func (userAddCmd) need() databaseNeed { return needCreated }

// RunAPI adds a person. An existing account keeps its password and name; only its membership is
// added, so the password is read only if there is no account.
func (c userAddCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	address, err := mail.ParseAddress(c.Email)
	if err != nil || address.Address != c.Email {
		return usageError(fmt.Sprintf("%q is not an email address; write it like ada@example.com", c.Email))
	}
	body := map[string]any{"email": c.Email, "name": c.Name, "role": c.Role}
	_, err = api.Call(ctx, "POST", "/v1/local/users", body)
	if e, ok := passwordProblem(err); ok && e.Code == "required" {
		if body["password"], err = c.read(s); err != nil {
			return err
		}
		_, err = api.Call(ctx, "POST", "/v1/local/users", body)
	}
	if err != nil {
		return passwordError(err)
	}
	_, err = fmt.Fprintf(s.Out, "%s may sign in as %s.\n", c.Email, c.Role)
	return err
}

// passwordProblem returns the problem with a password that an error of the API is about.
func passwordProblem(err error) (p flow.Problem, ok bool) {
	e, ok := errors.AsType[*flow.Error](err)
	if !ok || len(e.Fields) == 0 || e.Fields[0].Pointer != "/password" {
		return p, false
	}
	return e.Fields[0], true
}

// passwordError turns an error about a password into an error message.
func passwordError(err error) error {
	if p, ok := passwordProblem(err); ok {
		return errors.New(uncapitalized(p.Detail))
	}
	return err
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
