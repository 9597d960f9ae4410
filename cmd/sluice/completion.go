package main

import (
	"context"
	"fmt"
)

// completionCmd prints a completion script for a shell, generated from the declarations of
// the commands.
type completionCmd struct {
	Shell string `arg:"" help:"bash, zsh or fish."`
}

// Run prints the script.
func (c completionCmd) Run(_ context.Context, _ *Config, s *streams) error {
	script, err := newProgram(&cli{}).Completion(c.Shell)
	if err != nil {
		return usageError(err.Error())
	}
	_, err = fmt.Fprint(s.Out, script)
	return err
}
