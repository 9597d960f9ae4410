// Package remote has the commands that work through the API of a server, wherever it
// runs: flows as files, runs, deliveries and usage. It owns how a server is chosen, how
// flow files are found and read, and what the commands print. It knows nothing of databases: a
// command that also works on the local one is declared in package main.
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

// ErrReported is returned after a command has printed what is wrong. It only sets the
// exit code.
var ErrReported = errors.New("the command found problems")

// printRaw prints a response of the API, indented. Decoding and encoding it again could
// change numbers.
func printRaw(w io.Writer, raw []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(raw), "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, b.String())
	return err
}
