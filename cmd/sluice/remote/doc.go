// Package remote has the commands that work through the API of a server: flows as files, runs,
// deliveries and usage. It owns the choice of the server, finding and reading flow files, and
// the output of these commands. The commands of other nouns are in package main; none of them
// has access to databases.
package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Streams are the standard streams of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// UsageError is an error in how a command was called. The exit code 2 lets scripts and service
// managers distinguish it from a failure.
type UsageError string

// Error implements error.
func (e UsageError) Error() string { return string(e) }

// ErrReported is returned after a command has printed the problems. It only sets the exit
// code.
var ErrReported = errors.New("the command found problems")

// PrintRaw prints an indented response of the API. It does not decode it, which could change
// numbers.
func PrintRaw(w io.Writer, raw []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(raw), "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, b.String())
	return err
}
