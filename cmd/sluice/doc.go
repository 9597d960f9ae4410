// Command sluice draws flows of AI models and serves them as an API.
//
// This package owns the command line, the configuration, the wiring of all
// other packages and the shutdown. It is the only package that knows all
// others; it has no rules about flows, runs or keys.
//
// # Where to find things
//
// A command is a struct in the file of its noun: "sluice key rotate" is
// keyRotateCmd in keys.go. Its tagged fields declare flags and arguments (see
// package command), and its method RunAPI does the work through the API. To add one, write
// the struct, add it as a field to the struct of its group, add a line to the table of
// TestCommands_print_the_same_on_every_transport, and update docs/cli.md:
// go test ./cmd/sluice -run TestReference -update. A route that only the operator may use
// has api.Route.Operator and a path below /v1/local.
//
//	main.go         parses the command line, runs the command, reports its error
//	config.go       settings: flags, environment variables and their checks
//	connect.go      finds or serves the API that a command calls
//	store.go        opens the database, for commands and for the server
//	serve.go        the server as a command: start, welcome text, signals
//	app.go          wiring and shutdown of the server
//	doctor*.go      checks of settings, machine and database
//
// Packages beneath this one own a noun each:
//
//	upstream        clients of model providers, and which private addresses they reach
//	catalog         models and providers for the dashboard, the API and the commands
//	client          the API client of commands
//	remote          commands that work through the API of a server
//	command         reads the command line
//	starters        the flows that a new workspace begins with
//
// # How commands reach the data
//
// Commands call the API, and print its JSON or a table of it, so that their output cannot
// depend on where it comes from. connect returns the API of
//
//   - the server in the settings, over the network, with a key;
//   - else the server that runs on the local database, with the token in its lock file;
//   - else this process, which serves the handlers of the API on the local database.
//
// The latter two act for the operator, who may do what no key may and names any workspace.
// The API of this process executes no runs. SQLite allows other processes beside the one
// that does, so it also works beside a server that cannot be reached. "flow run" needs one
// that executes: without a server, it starts a temporary one. Commands that change the
// database as a whole, such as "backup" and "migrate", and "doctor" open it themselves.
//
// # The server
//
// startApp opens the store, takes the engine lock, listens, and only then recovers the
// runs that a crash interrupted, so that health checks get a response meanwhile. Parts
// know each other only through the configurations that app.wire fills in.
//
// A shutdown has four phases, each with a time limit: /readyz reports it and requests are
// served for SLUICE_DRAIN_DELAY; the Runner lets steps finish; the rest of the runs returns
// to the queue; connections are closed. TestShutdownTimeouts checks the sum of the limits.
//
// The process that reads documents is this binary again, started with an argument that
// package nodes handles before main runs.
//
// # Output
//
// Standard output has the result, so that a shell can assign it or pipe it on;
// hints and warnings go to standard error. With --json the result is one JSON value
// whose fields are stable. The exit code is 0 for success, 1 for a failure and 2
// for a usage error, which is reported before anything is changed. Errors are one
// sentence: the problem and, after a semicolon, the fix.
package main
