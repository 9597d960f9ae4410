package main

import (
	"context"
	"errors"
	"fmt"

	"sluice/cmd/sluice/client"
	"sluice/cmd/sluice/remote"
	"sluice/db"
	"sluice/flow"
)

// loginCmd and logoutCmd manage the saved server and key, a file of the user.
type (
	loginCmd  struct{ remote.LoginCmd }
	logoutCmd struct{ remote.Logout }
)

// Run saves the login with the key of the settings or, without one, from standard input.
func (c loginCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	return c.Login(ctx, cfg.Key, s.remote())
}

// Run removes the login.
func (c logoutCmd) Run(_ context.Context, _ *Config, s *streams) error {
	return c.Logout.Logout(s.remote())
}

// flowFmtCmd formats files; it needs neither a server nor a database.
type flowFmtCmd struct{ remote.Fmt }

// Run formats the files.
func (c flowFmtCmd) Run(_ context.Context, _ *Config, s *streams) error { return c.Format(s.remote()) }

// remote returns the streams for commands of package remote.
func (s *streams) remote() *remote.Streams { return &remote.Streams{In: s.in, Out: s.out, Err: s.err} }

// isLocal reports whether a command can work without a server.
func isLocal(command any) bool {
	switch command.(type) {
	case runner, storeRunner:
		return true
	}
	return false
}

// usesServer reports whether commands that can work on the database call a server instead: the
// configured one or that of the saved login. A configured database takes precedence over the
// login.
func (c *Config) usesServer() bool {
	if c.Server != "" {
		return true
	}
	saved, err := remote.SavedLogin()
	return err == nil && saved.URL != "" && c.DatabaseURL == "" && isDefaultDataDir(c.DataDir)
}

// connect returns a client of the configured server, else of that of the saved login, else
// of the server on the local database, which needs no key.
func (c *Config) connect() (*client.Client, error) {
	if c.Workspace != "" && c.Workspace != string(flow.DefaultWorkspace) {
		return nil, usageError("over HTTP, the key determines the workspace; use a key of that workspace, and leave out --workspace")
	}
	api, err := remote.Connect(c.Server, c.Key)
	if !errors.Is(err, remote.ErrNoServer) {
		return api, err
	}
	if info, running, readErr := db.ReadEngine(c.DataDir); readErr == nil && running {
		return &client.Client{Base: info.Addr, Token: info.Token}, nil
	}
	return nil, usageError(err.Error())
}

// localOnly returns a usage error if a server is configured for a command that works on the
// local database: it would change another installation than the user means.
func (c *Config) localOnly() error {
	if c.Server == "" {
		return nil
	}
	return usageError(fmt.Sprintf("this command works on the database, not over HTTP; run it on the machine of %s, without --server and SLUICE_URL", c.Server))
}
