package main

import (
	"context"
	"fmt"
)

// completionCmd prints a script for a shell. It is generated from the declarations of
// the commands, so it knows all of them.
type completionCmd struct {
	Shell string `arg:"" help:"bash, zsh or fish."`
}

// Run prints the script.
func (c completionCmd) Run(_ context.Context, _ *Config, s *streams) error {
	script, err := newProgram(&cli{}).Completion(c.Shell)
	if err != nil {
		return usageError(err.Error())
	}
	_, err = fmt.Fprint(s.out, script)
	return err
}
