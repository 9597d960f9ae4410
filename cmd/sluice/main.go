package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"sluice/flow"
)

// Exit codes: all well, it did not work, it was called wrongly.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// cli is the whole command line; each command has a file of its own.
type cli struct {
	Config `embed:"" group:"server"`

	Serve      serveCmd      `cmd:"" default:"withargs" help:"Start everything: dashboard, API and workers. This is what plain 'sluice' does."`
	User       userCmd       `cmd:"" help:"People who may use the dashboard."`
	Workspace  workspaceCmd  `cmd:"" help:"Workspaces: storage and quotas."`
	Flow       flowCmd       `cmd:"" help:"Flows as files: import, publish, export, list, validate, run."`
	Key        keyCmd        `cmd:"" help:"API keys: create, list, roll, revoke."`
	Credential credentialCmd `cmd:"" help:"Secrets that flows use to reach providers: add, test, list, remove."`
	Provider   providerCmd   `cmd:"" help:"Providers of models: list, and their models."`
	Model      modelCmd      `cmd:"" help:"Hosted models: list, show, compare versions."`
	Price      priceCmd      `cmd:"" help:"What models cost: set, list, remove."`
	Kinds      kindsCmd      `cmd:"" help:"Every node kind with its fields and ports."`
	Migrate    migrateCmd    `cmd:"" help:"Bring the database to this version's form, without starting."`
	Backup     backupCmd     `cmd:"" help:"Write database and files to one file, also beside a running server."`
	Restore    restoreCmd    `cmd:"" help:"Put a backup into the data directory."`
	Doctor     doctorCmd     `cmd:"" help:"Show what is in force and find what is wrong."`
	Ready      readyCmd      `cmd:"" help:"Ask the running server whether it accepts requests; exit code 0 means yes. For health checks of containers."`
	Secrets    secretsCmd    `cmd:"" help:"The master key that encrypts secrets: rotate."`
	Audit      auditCmd      `cmd:"" help:"The audit logs of workspaces: verify."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
}

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run is main with everything passed in.
func run(args []string, in io.Reader, out, errs io.Writer) int {
	var c cli
	exit := -1
	parser := newParser(&c, kong.Writers(out, errs), kong.Exit(func(code int) { exit = code }))
	command, err := parser.Parse(args)
	if exit >= 0 {
		return exit // --help
	}
	if err != nil {
		fmt.Fprintf(errs, "sluice: %s. %s\n", plain.Replace(err.Error()), lookUp(err))
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	command.BindTo(ctx, (*context.Context)(nil))
	command.Bind(&c.Config, &streams{in: in, out: out, err: errs})
	return report(errs, command.Run())
}

// lookUp says where it stands what the command takes, or which commands there
// are. Plain sluice is serve, so what is no command was given to that.
func lookUp(err error) string {
	if e, ok := errors.AsType[*kong.ParseError](err); ok && e.Context.Selected() != nil && len(e.Context.Args) > 0 {
		if n := e.Context.Selected(); n.Name != "serve" || e.Context.Args[0] == "serve" {
			return fmt.Sprintf("'%s --help' says what it takes.", n.FullPath())
		}
	}
	return "'sluice --help' lists the commands."
}

// plain says in plain words what the parser says of values it cannot read.
var plain = strings.NewReplacer(
	"expected a valid 64 bit int but got", "wanted a whole number, got",
	"expected a float but got", "wanted a number, got",
	"(from envar ", "(from ",
	", ...", " …",
)

// newParser reads the command line. Help shows what a command itself takes
// first, and the settings of the server, which every command takes, after that.
func newParser(c *cli, options ...kong.Option) *kong.Kong {
	parser, err := kong.New(c, append(options,
		kong.Name("sluice"),
		kong.Description("Draw a flow of AI models. Call it as an API."),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.ExplicitGroups([]kong.Group{{Key: "server", Title: "Settings of the server, also as variables:"}}),
	)...)
	if err != nil {
		panic(err) // the declaration above is wrong
	}
	parser.Model.HelpFlag.Help = "Show this."
	return parser
}

// report says in one sentence what went wrong.
func report(w io.Writer, err error) int {
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(w, "sluice: %v\n", err)
		return exitUsage
	case errors.Is(err, errRunEnded), errors.Is(err, errUnwell):
		return exitError // what is wrong has been shown
	}
	var own *flow.Error
	if errors.As(err, &own) {
		err = own
	}
	fmt.Fprintf(w, "sluice: %s\n", plainError(err))
	return exitError
}

// usageError is a command called wrongly.
type usageError string

func (e usageError) Error() string { return string(e) }

// selfCommand is how the person started this program, for printed commands.
func selfCommand() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./cmd/sluice"
	}
	if strings.ContainsRune(os.Args[0], filepath.Separator) {
		return os.Args[0]
	}
	return "sluice"
}
