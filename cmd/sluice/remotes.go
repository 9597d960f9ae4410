package main

import (
	"context"

	"sluice/cmd/sluice/remote"
)

// loginCmd and logoutCmd manage the saved server and key, a file of the user.
type (
	loginCmd  struct{ remote.LoginCmd }
	logoutCmd struct{ remote.Logout }
)

// Run saves the login with the key of the settings or, without one, from standard input.
func (c loginCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	return c.Login(ctx, cfg.Key, s)
}

// Run removes the login.
func (c logoutCmd) Run(_ context.Context, _ *Config, s *streams) error {
	return c.Logout.Logout(s)
}

// flowFmtCmd formats files; it needs neither a server nor a database.
type flowFmtCmd struct{ remote.Fmt }

// Run formats the files.
func (c flowFmtCmd) Run(_ context.Context, _ *Config, s *streams) error { return c.Format(s) }

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
