package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// doctorCmd shows the effective settings, each with its source, and checks the settings,
// the machine, the database and the data for known problems. Findings come with advice.
// The exit code is 1 for problems and 0 for warnings, so that scripts can use it.
type doctorCmd struct {
	Files     bool `help:"Also check that the content of every file is in the object storage."`
	JSON      bool `help:"Print as JSON."`
	Knowledge bool `help:"Compare the documents of all knowledge bases with their passages and indexes. Takes longer."`
}

// verdict is the severity of a finding. Its values are part of the JSON output.
type verdict string

const (
	verdictOK   verdict = "ok"
	verdictWarn verdict = "warn" // it works, but the operator should know
	verdictBad  verdict = "bad"  // it does not work, or will soon fail
)

// finding is the result of one check. Text states the fact and Advice the fix, in sentences
// for operators who do not know the code.
type finding struct {
	Name   string  `json:"name"`
	State  verdict `json:"state"`
	Text   string  `json:"text"`
	Advice string  `json:"advice,omitempty"`
}

// findings are the results so far.
type findings []finding

// add adds a finding. The advice may be empty.
func (f *findings) add(name string, state verdict, advice, format string, args ...any) {
	*f = append(*f, finding{name, state, fmt.Sprintf(format, args...), advice})
}

// worst returns the most severe state among the findings.
func (f findings) worst() verdict {
	worst := verdictOK
	for _, one := range f {
		if one.State == verdictBad || worst == verdictOK {
			worst = one.State
		}
	}
	return worst
}

// errFoundProblems is returned after all findings have been printed. It only sets the exit
// code.
var errFoundProblems = errors.New("doctor found problems; see above")

// Run shows settings and findings. It is read-only, except that opening the database
// migrates it.
func (c doctorCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	settings := cfg.settings()
	found := cfg.examine(ctx, c)
	var err error
	if c.JSON {
		err = printJSON(s.Out, map[string]any{"version": version(), "platform": platform(), "state": found.worst(), "settings": settings, "findings": found})
	} else {
		err = found.print(s.Out, settings)
	}
	if err == nil && found.worst() == verdictBad {
		err = errFoundProblems
	}
	return err
}

// print prints the settings and the findings as two tables.
func (f findings) print(out io.Writer, settings []setting) error {
	fmt.Fprintf(out, "Sluice %s, %s\n\nSettings\n", version(), platform())
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, s := range settings {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", s.Name, s.Value, s.Source)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nFindings\n")
	w = tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, one := range f {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", verdictLabel(one.State), one.Name, one.Text)
		if one.Advice != "" {
			fmt.Fprintf(w, "\t\t→ %s\n", one.Advice)
		}
	}
	return w.Flush()
}

// verdictLabel returns the verdict as it is shown in the table.
func verdictLabel(v verdict) string { return strings.ToUpper(string(v)) }
