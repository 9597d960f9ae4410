package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"sluice/db"
	"sluice/db/backup"
	"sluice/flow"
)

// backupCmd writes the SQLite database and all files to one file. It copies a
// snapshot, so it works beside a running server. For PostgreSQL it returns an error that
// names PostgreSQL's own backup tools. The master key is deliberately left out, so
// that a stolen backup reveals no secret.
type backupCmd struct {
	File string `arg:"" help:"File to write, such as sluice-2026-03-14.backup; it must not exist." type:"path"`
	With bool   `name:"with-files" help:"Also hold the content of files in object storage."`
	Only bool   `name:"without-files" help:"Hold no content of files, only their hashes."`
	JSON bool   `help:"Print what the backup holds as JSON."`
}

// RunOn writes a backup. The server may be running.
func (c backupCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	contents := backup.Local
	switch {
	case c.With && c.Only:
		return usageError("--with-files and --without-files contradict each other; give one of them")
	case c.With:
		contents = backup.All
	case c.Only:
		contents = backup.Nothing
	}
	b, err := backup.Create(ctx, store.DB, c.File, version(), contents)
	if err != nil {
		return err
	}
	if len(b.Missing) > 0 {
		fmt.Fprintf(s.Err, "The content of %d files is missing on this disk, so the backup holds only their metadata: %v\n", len(b.Missing), b.Missing)
	}
	if c.JSON {
		return printJSON(s.Out, b)
	}
	fmt.Fprintf(s.Out, "%s holds the database and %s (%s). It was read back and verified.\n", c.File, count(int64(b.Files), "file", "files"), flow.Size(b.FileBytes))
	if n := int64(len(b.Elsewhere)); n > 0 {
		fmt.Fprintf(s.Err, "The content of %s is not in it. Keep the object storage, or add --with-files.\n", count(n, "file", "files"))
	}
	fmt.Fprintf(s.Err, "The master key is NOT in it. Back it up separately, %s: without it no stored secret can be read again.\n", cfg.masterKeyLocation())
	return nil
}

// masterKeyLocation returns a phrase for messages that says where the master key is.
func (c *Config) masterKeyLocation() string {
	switch {
	case c.MasterKey != "":
		return "as SLUICE_MASTER_KEY has it"
	case c.MasterKeyCommand != "":
		return "as SLUICE_MASTER_KEY_COMMAND prints it"
	case c.MasterKeyFile != "":
		return "in " + c.MasterKeyFile
	}
	return "in " + filepath.Join(c.DataDir, db.KeyFile)
}

// restoreCmd replaces the data with a backup. Nothing is overwritten: the backup is
// unpacked and verified in a temporary directory first, and an existing database is
// only moved aside, with --replace.
type restoreCmd struct {
	File    string `arg:"" help:"Backup file." type:"existingfile"`
	Replace bool   `help:"Move an existing database aside instead of failing."`
	JSON    bool   `help:"Print what was restored as JSON."`
}

// Run restores into the data directory. The server must be stopped, because it has the
// database open. An existing database is an error unless --replace is given.
func (c restoreCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	if err := cfg.check(); err != nil {
		return err
	}
	r, err := backup.Restore(ctx, cfg.database(cfg.logger(s.Err)), c.File, c.Replace)
	if errors.Is(err, db.ErrEngineRunning) {
		return errors.New("a server is running on this data directory; stop it first")
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(s.Out, map[string]any{"backup": r.Manifest, "aside": r.Aside})
	}
	fmt.Fprintf(s.Out, "Restored to %s as it was at %s: the database and %s.\n", cfg.DataDir, r.MadeAt.Format("2006-01-02 15:04:05 UTC"), count(int64(r.Files), "file", "files"))
	if r.Aside != "" {
		fmt.Fprintf(s.Out, "The previous data is in %s.\n", r.Aside)
	}
	if n := int64(len(r.Elsewhere)); n > 0 {
		fmt.Fprintf(s.Err, "The backup does not hold the content of %s. 'sluice doctor --files' checks whether it is in the object storage.\n", count(n, "file", "files"))
	}
	fmt.Fprintf(s.Err, "Runs and deliveries that were open at the time of the backup continue when the server starts. Steps completed after the backup may run again.\n")
	return nil
}
