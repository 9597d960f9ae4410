package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"sluice/db"
	"sluice/flow/library"
	"sluice/nodes"
	"sluice/outbound/s3"
)

// openLocal opens the configured database for a command that works on it directly. The database must
// exist, so that a mistyped directory is an error and not a new database with a new master key.
// Warnings are logged to standard error.
func openLocal(ctx context.Context, cfg *Config, s *streams) (*db.Store, error) {
	return cfg.openStore(ctx, cfg.logger(s.Err), storeOptions{mustExist: true})
}

// createStore is like openLocal for commands that create a missing database.
func createStore(ctx context.Context, cfg *Config, s *streams) (*db.Store, error) {
	return cfg.openStore(ctx, cfg.logger(s.Err), storeOptions{})
}

// storeOptions are the differences between opening the database for a command and for a
// server.
type storeOptions struct {
	mustExist bool   // a missing database is an error
	instance  string // name of a server; empty for a command
}

// openStore checks the settings, opens and migrates the database, and calls
// bindCredentials. Every command and the server open their store here, except doctor, which
// reports the problem of each step.
func (c *Config) openStore(ctx context.Context, log *slog.Logger, o storeOptions) (*db.Store, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	d := c.database(log)
	d.MustExist, d.Instance = o.mustExist, o.instance
	store, err := db.Open(ctx, d)
	if errors.Is(err, db.ErrNoDatabase) {
		return nil, c.noDatabase()
	}
	if err != nil {
		return nil, err
	}
	if err := bindCredentials(ctx, store, log); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// bindCredentials binds credentials without hosts, which earlier releases allowed, to the
// hosts that flows send them to. It logs those that it cannot bind. It runs every time the
// store is opened, because a restored backup may be older than the program.
func bindCredentials(ctx context.Context, store *db.Store, log *slog.Logger) error {
	unbound, err := library.BindCredentials(ctx, store, nodes.New(nodes.Deps{}))
	for _, c := range unbound {
		log.Warn("credential can be sent anywhere: enter its hosts under Credentials or with 'sluice credential hosts'", "name", c.Name, "workspace", c.WorkspaceID)
	}
	return err
}

// database converts the settings to those of package db, which knows no flags and variables.
func (c *Config) database(log *slog.Logger) db.Config {
	d := db.Config{
		DatabaseURL: c.DatabaseURL, ReadDatabaseURL: c.ReadURL, DataDir: c.DataDir,
		MasterKey: c.MasterKey, MasterKeyFile: c.MasterKeyFile, MasterKeyCommand: c.MasterKeyCommand, Audited: c.auditLog(),
		Retention: time.Duration(c.Retention), AuditRetention: time.Duration(c.AuditRetention), Capacity: c.plan().Workers, PageCache: c.plan().Pages, KnowledgeCache: int64(c.KnowledgeCache), MaxFile: int64(c.MaxFile), Quota: c.quota(), OpenSignup: c.Signup == "open", Version: version(), Log: log,
		MachineNow: machineNow(),
	}
	if client, _ := c.objects(); client != nil { // check has reported an error
		d.Objects, d.ObjectsReadOnly, d.ObjectsRedirect = client, client.Settings().ReadOnly, c.FilesRedirect == "on"
	}
	return d
}

// objects returns the client of SLUICE_FILES, nil if it is empty.
func (c *Config) objects() (*s3.Client, error) {
	if (c.FilesKeyID == "") != (c.FilesSecret == "") {
		return nil, errors.New("SLUICE_FILES_KEY_ID and SLUICE_FILES_SECRET belong together; set both or neither")
	}
	if c.Files == "" {
		return nil, nil
	}
	settings, err := s3.ParseSettings(c.Files)
	if err != nil {
		return nil, fmt.Errorf("SLUICE_FILES: %w", err)
	}
	return s3.New(settings, s3.NewSources(s3.Credentials{KeyID: c.FilesKeyID, Secret: c.FilesSecret}, settings.Region)), nil
}

// existing returns the settings of a store whose database must exist.
func (c *Config) existing(log *slog.Logger) db.Config {
	d := c.database(log)
	d.MustExist = true
	return d
}

// needDatabase returns an error if the SQLite file is missing. Missing tables
// in PostgreSQL are found only when the database is opened, which may take seconds.
func (c *Config) needDatabase() error {
	if _, err := os.Stat(filepath.Join(c.DataDir, db.DatabaseFile)); c.DatabaseURL == "" && errors.Is(err, fs.ErrNotExist) {
		return c.noDatabase()
	}
	return nil
}

// noDatabase returns the error for a missing database. It names the expected place and the
// commands that create one.
func (c *Config) noDatabase() error {
	if c.DatabaseURL != "" {
		return noDatabaseError("the database in DATABASE_URL has no Sluice tables; correct DATABASE_URL, or create the tables with 'sluice migrate' or 'sluice serve'")
	}
	return noDatabaseError(fmt.Sprintf("there is no database in %s; if that is not the server's data directory, set SLUICE_DATA_DIR or --data-dir, else create one with 'sluice serve', 'sluice migrate', 'sluice restore' or 'sluice user add'; for a server elsewhere, give --server and --key or use 'sluice login URL'", c.DataDir))
}

// noDatabaseError is the error for a missing database.
type noDatabaseError string

// Error implements error.
func (e noDatabaseError) Error() string { return string(e) }

// Is makes the error a db.ErrNoDatabase.
func (e noDatabaseError) Is(target error) bool { return target == db.ErrNoDatabase }
