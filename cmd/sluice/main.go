package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/term"

	"sluice/cmd/sluice/client"
	"sluice/cmd/sluice/command"
	"sluice/cmd/sluice/remote"
	"sluice/db"
	"sluice/flow"
	"sluice/flow/wording"
)

// Exit codes: success, failure, usage error, and stale cases of a test without failures.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
	exitStale = 3
)

// cli declares the command line; each command has a file of its own.
type cli struct {
	Config

	Serve      serveCmd          `cmd:"" default:"" help:"Start everything: dashboard, API and workers. This is what plain 'sluice' does."`
	User       userCmd           `cmd:"" help:"People who may use the dashboard."`
	Workspace  workspaceCmd      `cmd:"" help:"Workspaces: storage and quotas."`
	Flow       flowCmd           `cmd:"" help:"Flows as files: import, publish, export, list, validate, run."`
	Dev        remote.Dev        `cmd:"" help:"Keep flow files and drafts equal while both are edited. Publishes nothing."`
	Run        remote.Runs       `cmd:"" help:"Runs: list, show, watch, cancel, rerun."`
	Delivery   remote.Deliveries `cmd:"" help:"Webhook deliveries: list, resend."`
	Usage      remote.Usage      `cmd:"" help:"What the flows used: runs, tokens and cost by day, flow, key or model."`
	Key        keyCmd            `cmd:"" help:"API keys: create, list, rotate, revoke."`
	Credential credentialCmd     `cmd:"" help:"Secrets that flows use to reach providers: add, test, list, remove."`
	Provider   providerCmd       `cmd:"" help:"Model providers: list them and their models."`
	Model      modelCmd          `cmd:"" help:"Hosted models: list, show, compare versions."`
	Alarm      alarmCmd          `cmd:"" help:"Alarms: tell people when runs fail, take long, cost much or stop."`
	Batch      batchCmd          `cmd:"" help:"Batches: run a flow for every row of a table."`
	Test       testCmd           `cmd:"" help:"Tests of flows: run the cases of files, show and watch tests of a server."`
	Case       caseCmd           `cmd:"" help:"Test cases of flows: list, add, make from runs, remove."`
	Knowledge  knowledgeCmd      `cmd:"" help:"Knowledge bases: create, list, show, add, sync, remove, search, export, delete."`
	Trigger    triggerCmd        `cmd:"" help:"Triggers of flows: list, show, pause, resume, start now, list events."`
	Price      priceCmd          `cmd:"" help:"Prices of models: set, list, remove."`
	Kinds      kindsCmd          `cmd:"" help:"List the node kinds with their fields and ports."`
	Schema     schemaCmd         `cmd:"" help:"Print the JSON Schema of flow documents, for editors."`
	Migrate    migrateCmd        `cmd:"" help:"Migrate the database to this version, without starting the server."`
	Backup     backupCmd         `cmd:"" help:"Write database and files to one file. Safe to run while the server is up."`
	Compact    compactCmd        `cmd:"" help:"Give the space of erased data back to the disk (SQLite)."`
	Restore    restoreCmd        `cmd:"" help:"Restore a backup into the data directory."`
	Files      filesCmd          `cmd:"" help:"The content of files: move to object storage and back."`
	Doctor     doctorCmd         `cmd:"" help:"Show the effective settings and find problems."`
	Ready      readyCmd          `cmd:"" help:"Check whether the running server accepts requests; exit code 0 means yes. For health checks of containers."`
	Secrets    secretsCmd        `cmd:"" help:"The master key that encrypts secrets: rotate."`
	Audit      auditCmd          `cmd:"" help:"The audit logs of workspaces: verify."`
	Login      loginCmd          `cmd:"" help:"Save a server and a key for later commands; reads the key from standard input."`
	Logout     logoutCmd         `cmd:"" help:"Forget the saved servers and their keys."`
	Completion completionCmd     `cmd:"" help:"Print a script that completes commands in bash, zsh or fish."`
	Version    versionCmd        `cmd:"" help:"Print the version."`
	Licenses   licensesCmd       `cmd:"" help:"Print the licenses of Sluice and of everything that it contains."`
}

// A command implements one of three interfaces. An apiRunner, as most are, works through the API;
// see Config.connect. A storeRunner works on an existing local database, which execute opens and
// closes. A runner opens what it needs itself.
type (
	apiRunner interface {
		RunAPI(ctx context.Context, api *client.Client, s *streams) error
	}
	storeRunner interface {
		RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error
	}
	runner interface {
		Run(ctx context.Context, cfg *Config, s *streams) error
	}
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// streams are the standard streams of a command. Tests replace them; nothing else in this
// package uses os.Stdout and the like.
type streams = remote.Streams

// run is main with its environment passed in. It returns the exit code.
func run(args []string, in io.Reader, out, errs io.Writer) int {
	var c cli
	selected, err := newProgram(&c).Parse(usual(args))
	if errors.Is(err, command.ErrHelp) {
		return report(errs, selected.WriteHelp(out, "Settings of the server, also as variables:", helpWidth(out)))
	}
	if err != nil {
		fmt.Fprintf(errs, "sluice: %s %s\n", wording.Period(err.Error()), helpHint(selected, args))
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // restores the default: a second signal kills the process
	return report(errs, execute(ctx, selected.Target(), &c.Config, &streams{In: in, Out: out, Err: errs}))
}

// usual returns the arguments without two habits from other programs: "help run list" is
// "run list --help", and "--version" is "version".
func usual(args []string) []string {
	switch {
	case len(args) > 0 && args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case len(args) == 1 && args[0] == "--version":
		return []string{"version"}
	}
	return args
}

// execute runs a command.
func execute(ctx context.Context, command any, cfg *Config, s *streams) error {
	switch c := command.(type) {
	case apiRunner:
		return executeAPI(ctx, c, cfg, s)
	case storeRunner:
		store, err := openLocal(ctx, cfg, s)
		if err != nil {
			return err
		}
		defer store.Close()
		return c.RunOn(ctx, cfg, store, s)
	}
	return command.(runner).Run(ctx, cfg, s)
}

// executeAPI runs a command that works through the API. Two methods are optional: overHTTP returns
// an error if only the operator may use the command, and need what it needs of the database.
func executeAPI(ctx context.Context, c apiRunner, cfg *Config, s *streams) error {
	if c, ok := c.(interface{ overHTTP() error }); ok && cfg.usesServer() {
		if err := c.overHTTP(); err != nil {
			return err
		}
	}
	need := needExisting
	if c, ok := c.(interface{ need() databaseNeed }); ok {
		need = c.need()
	}
	api, end, err := cfg.connect(s, need)
	if err != nil {
		return err
	}
	err = c.RunAPI(ctx, api, s)
	if e := end(); err == nil {
		err = e
	}
	return err
}

// newProgram returns the command line that c declares. Parsing it fills in c.
func newProgram(c *cli) *command.Command {
	return command.New("sluice", "Draw a flow of AI models. Call it as an API.", c)
}

// helpWidth returns the width of the terminal that help is printed on, or 80.
func helpWidth(out io.Writer) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if f, ok := out.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
}

// helpHint names the help to read after a usage error. Plain "sluice" is "sluice serve", so
// an unknown command is parsed as an argument of serve.
func helpHint(selected *command.Command, args []string) string {
	if selected.Parent == nil || selected.Name == "serve" && !slices.Contains(args, "serve") {
		return "Run 'sluice --help' for a list of commands."
	}
	return fmt.Sprintf("Run '%s --help' for usage.", selected.Path())
}

// report prints an error as one sentence and returns the exit code. An error with a code
// is printed without the text that packages wrapped around it, which is for logs.
func report(w io.Writer, err error) int {
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(w, "sluice: %v\n", err)
		return exitUsage
	case errors.Is(err, errStale):
		return exitStale // the report has been printed
	case errors.Is(err, errFoundProblems), errors.Is(err, remote.ErrReported):
		return exitError // the details have been printed
	}
	var own *flow.Error
	if errors.As(err, &own) {
		err = own
	}
	fmt.Fprintf(w, "sluice: %s\n", plainError(err))
	return exitError
}

// usageError is an error in how a command was called; its exit code is 2.
type usageError = remote.UsageError

// selfCommand returns the command that started this program, so that printed commands work
// when they are pasted, even after "go run".
func selfCommand() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./cmd/sluice"
	}
	if strings.ContainsRune(os.Args[0], filepath.Separator) {
		return os.Args[0]
	}
	return "sluice"
}
