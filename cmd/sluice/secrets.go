package main

import (
	"context"
	"errors"
	"fmt"

	"sluice/db"
)

// secretsCmd groups the commands for the master key, which encrypts the secrets in the
// database. A stolen database without the key reveals no secret.
type secretsCmd struct {
	Rotate secretsRotateCmd `cmd:"" help:"Encrypt all secrets with a new master key. The server must be stopped."`
}

// secretsRotateCmd encrypts all secrets with a new master key. It needs exclusive access,
// because a running server would encrypt new secrets with the old key.
type secretsRotateCmd struct {
	NewKeyFile string `help:"Where to write the new key, or where it already is. Default: it replaces the current key file." placeholder:"FILE" type:"path"`
	JSON       bool   `help:"Print what was done as JSON."`
}

// Run rotates the master key. It can be repeated after an interruption: secrets that are
// already encrypted with the new key are left as they are.
func (c secretsRotateCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	if err := cfg.check(); err != nil {
		return err
	}
	if err := cfg.needDatabase(); err != nil {
		return err
	}
	r, err := db.RotateMasterKey(ctx, cfg.existing(cfg.logger(s.Err)), c.NewKeyFile)
	if errors.Is(err, db.ErrEngineRunning) {
		return errors.New("a server is running on this database; stop all servers first, because they have only the old key")
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(s.Out, map[string]any{"resealed": r.Reencrypted, "unreadable": r.Unreadable, "key_file": r.KeyFile, "old_key_file": r.OldFile})
	}
	fmt.Fprintf(s.Out, "%d secrets are encrypted with the new master key in %s.\n", r.Reencrypted, r.KeyFile)
	if r.Unreadable > 0 {
		fmt.Fprintf(s.Out, "%s before the rotation and stays as it is; the log names each. Enter it again, or restore it from a backup.\n", count(int64(r.Unreadable), "secret could not be read", "secrets could not be read"))
	}
	if r.OldFile == "" {
		fmt.Fprintln(s.Err, "Now set SLUICE_MASTER_KEY_FILE of the server to it, or SLUICE_MASTER_KEY to its content, and back it up.")
	} else {
		fmt.Fprintf(s.Err, "Back it up. The old key is in %s; existing backups need it. Delete it together with the last of them.\n", r.OldFile)
	}
	return nil
}
