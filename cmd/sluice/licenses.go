package main

import (
	"context"
	"io"

	"sluice/static"
)

// licensesCmd prints the licenses of Sluice and its components, which the page /licenses shows too.
type licensesCmd struct{}

// Run prints the text.
func (licensesCmd) Run(_ context.Context, _ *Config, s *streams) error {
	_, err := io.WriteString(s.Out, static.Licenses())
	return err
}
