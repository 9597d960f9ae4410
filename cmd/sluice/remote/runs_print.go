package remote

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"sluice/cmd/sluice/client"
	"sluice/flow"
)

// IsTerminal reports whether w is a terminal, where hints and progress are printed.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Follow waits until a run has ended. It prints the progress of each step if standard error is
// a terminal.
func Follow(ctx context.Context, api *client.Client, run *client.Run, s *Streams) error {
	if !IsTerminal(s.Err) {
		_, err := api.Await(ctx, run.URLs["self"])
		return err
	}
	started := map[string]time.Time{}
	return api.Events(ctx, run.URLs["events"], func(step client.StepEvent) {
		if _, seen := started[step.Path]; !seen {
			started[step.Path] = time.Now()
		}
		if flow.StepState(step.State).Ended() {
			fmt.Fprintf(s.Err, "%s %-24s %-10s %s\n", stateSymbol(step.State), step.Path, step.State, elapsed(started[step.Path]))
		} else {
			fmt.Fprintf(s.Err, "… %-24s %s\n", step.Path, step.State)
		}
	})
}

// elapsed returns the time since a step started, or "" for less than 1 ms.
func elapsed(since time.Time) string {
	if d := time.Since(since); d >= time.Millisecond {
		return d.Round(time.Millisecond).String()
	}
	return ""
}

// stateSymbol returns the symbol for the final state of a step.
func stateSymbol(state string) string {
	switch flow.StepState(state) {
	case flow.StepSucceeded, flow.StepReused:
		return "✓"
	case flow.StepSkipped:
		return "–"
	}
	return "✗"
}

// PrintRun prints the outputs of an ended run, each formatted by text, or the run object. If
// the run did not succeed, it prints the outputs produced before the failure and returns
// ErrReported.
func PrintRun(run *client.Run, text func(any) string, asJSON bool, s *Streams) error {
	failed := run.Status != string(flow.RunSucceeded)
	if asJSON {
		if _, err := fmt.Fprintf(s.Out, "%s\n", bytes.TrimSpace(run.Raw)); err != nil {
			return err
		}
	} else {
		for name, v := range run.Outputs.All() {
			fmt.Fprintf(s.Out, "%s: %s\n", name, text(v))
		}
	}
	if !failed {
		return nil
	}
	if run.Error != nil {
		fmt.Fprintf(s.Err, "sluice: the run %s at %s: %s (%s)\n", run.Status, failedAt(run.Error.Node), run.Error.Message, run.Error.Code)
	} else {
		fmt.Fprintf(s.Err, "sluice: the run was %s\n", run.Status)
	}
	return ErrReported
}

// failedAt names the node where a run failed.
func failedAt(node string) string {
	if node == "" {
		return "its end"
	}
	return node
}
