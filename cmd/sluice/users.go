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
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
	"golang.org/x/term"

	"sluice/flow"
)

type userCmd struct {
	Add userAddCmd `cmd:"" help:"Add a person without the browser."`
}

type userAddCmd struct {
	Email         string `required:"" help:"E-mail address to sign in with."`
	PasswordStdin bool   `help:"Read the password from standard input instead of asking."`
	Role          string `default:"owner" enum:"owner,editor,viewer" help:"owner, editor or viewer."`
}

// Lengths of a password, in characters; the upper one bounds the hashing.
const (
	shortestPassword = 10
	longestPassword  = 512
)

// passwordHash is argon2id with 19 MiB and two passes, as OWASP advises.
var passwordHash = &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// Run adds a person.
func (c userAddCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	address, err := mail.ParseAddress(c.Email)
	if err != nil || address.Address != c.Email {
		return usageError(fmt.Sprintf("%q is not an e-mail address", c.Email))
	}
	password, err := c.password(s)
	if err != nil {
		return err
	}
	hash, err := argon2id.CreateHash(password, passwordHash)
	if err != nil {
		return fmt.Errorf("hash the password: %w", err)
	}
	store, err := cfg.openStore(ctx, cfg.logger(s.err))
	if err != nil {
		return err
	}
	defer store.Close()
	u := &flow.User{Email: c.Email, Name: c.Email, PasswordHash: hash}
	if err := store.CreateUser(ctx, flow.DefaultWorkspace, u, flow.MemberRole(c.Role)); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s may sign in as %s.\n", c.Email, c.Role)
	return store.Audit(ctx, flow.DefaultWorkspace, "cli", "member.add", u.ID, c.Role)
}

func (c userAddCmd) password(s *streams) (string, error) {
	text, err := c.read(s)
	if err != nil {
		return "", err
	}
	if n := utf8.RuneCountInString(text); n < shortestPassword || n > longestPassword {
		return "", fmt.Errorf("a password has %d to %d characters, this one has %d", shortestPassword, longestPassword, n)
	}
	return text, nil
}

func (c userAddCmd) read(s *streams) (string, error) {
	if c.PasswordStdin {
		line, err := bufio.NewReader(io.LimitReader(s.in, 4096)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the password: %w", err)
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	f, ok := s.in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return "", usageError("there is no terminal to ask for the password; use --password-stdin")
	}
	fmt.Fprint(s.err, "Password: ")
	text, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprintln(s.err)
	return string(text), err
}
