package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/sandbox"
)

// serveCmd starts the server. It is the default command.
type serveCmd struct{}

// Run starts the server and serves until a signal or a failure. The first SIGINT or SIGTERM
// starts the shutdown, which takes at most 35 s after SLUICE_DRAIN_DELAY; a second signal
// ends the process immediately.
func (serveCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	sandbox.HideMemory()
	tuneGC()
	cfg.plan().Apply()
	log := cfg.logger(s.Err)
	a, err := startApp(ctx, cfg, log, appOptions{})
	if err != nil {
		return err
	}
	cfg.warnSharedKeyFile(log)
	serving, stopServing := context.WithCancel(ctx)
	go func() { // an unavailable database delays the set-up link, but does not end the server
		if err := a.printWelcome(flow.OutlastOutages(serving), s.Out); err != nil {
			a.failed <- err
			return
		}
		a.warnExpiringKeys(serving)
	}()
	select {
	case <-ctx.Done():
		a.log.Info("shutting down: running steps may finish, the rest returns to the queue")
		a.announceShutdown()
	case err = <-a.failed:
	}
	stopServing() // what waits for the database, before it is closed
	if e := a.stop(); err == nil {
		err = e
	}
	return err
}

// printWelcome prints the address, the set-up link if there is no owner yet and, if
// there are no keys yet, how to call a flow. The link contains a one-time token, since
// the first person to open it becomes the owner. With SLUICE_LOG=json each of the first two is a
// JSON object, and the rest is left out.
func (a *app) printWelcome(ctx context.Context, w io.Writer) error {
	say := func(text, _, _ string) { fmt.Fprint(w, text) }
	if a.cfg.Log == logJSON {
		lines := slog.New(slog.NewJSONHandler(w, nil))
		say = func(_, message, url string) { lines.Info(message, "version", version(), "url", url) }
	}
	say(fmt.Sprintf("Sluice %s is running at %s\n", version(), a.url), "Sluice is running", a.url)
	token := flow.NewLinkToken()
	offered, err := a.store.OfferSetUp(ctx, flow.Hash([]byte(token)))
	if errors.Is(err, &flow.Error{Code: flow.CodeStorageFull}) {
		const full = "The disk is full. Free some space and start again to get the set-up link."
		say("\n"+full+"\n", full, a.url)
		return nil
	}
	if err != nil {
		return fmt.Errorf("offer set-up: %w", err)
	}
	if offered {
		link := strings.TrimRight(a.url, "/") + "/setup?token=" + token
		say(fmt.Sprintf(`
  ┌ Set up Sluice and become its owner. This link works once:
  │
  │ %s
  │
  └ It is printed nowhere else. Starting again prints a new one.
`, link), "Set up Sluice and become its owner. This link works once.", link)
	}
	if a.cfg.Log != logJSON && (!offered || !a.exposed) {
		a.printFlows(ctx, w)
	}
	return nil
}

// printFlows prints how to call a flow if there are no keys yet.
func (a *app) printFlows(ctx context.Context, w io.Writer) {
	keys, err := a.store.ListKeys(ctx, flow.DefaultWorkspace)
	if err != nil || len(keys) > 0 {
		return
	}
	flows, err := a.store.ListFlows(ctx, flow.DefaultWorkspace, "", 20)
	if err != nil || len(flows) == 0 {
		return
	}
	fmt.Fprintf(w, "\nSample flows to try:\n")
	first := flows[0]
	for _, f := range flows {
		fmt.Fprintf(w, "  %s  %s\n", f.ID, f.Name)
		if strings.HasPrefix(f.Name, "Route") {
			first = f
		}
	}
	a.printFirstCall(w, first)
}

// printFirstCall prints the shell commands that publish a flow, create a key and call
// the flow.
func (a *app) printFirstCall(w io.Writer, f flow.Flow) {
	from, variables := a.cfg.otherTerminal()
	fmt.Fprintf(w, `
In another terminal, %[1]s, publish one and make a key (it is shown once):
  %[2]s%[3]s flow publish %[4]s
  KEY=$(%[2]s%[3]s key create --name first)

Call the flow with it:
  curl %[5]s/v1/flow/%[4]s/run \
    -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -H "Prefer: wait=30" \
    -d '%[6]s'

`, from, variables, selfCommand(), f.ID, a.url, a.exampleBody(f))
}

// otherTerminal returns where to run a command in another terminal, and the variables to set
// for it. DATABASE_URL is omitted because it may contain a password.
func (c *Config) otherTerminal() (from, variables string) {
	if c.DatabaseURL != "" {
		return "with the same DATABASE_URL and master key in its environment", ""
	}
	if c.DataDir != "" && !isDefaultDataDir(c.DataDir) {
		variables = fmt.Sprintf("SLUICE_DATA_DIR=%s ", c.DataDir)
	}
	return "from the same directory", variables
}

// exampleBody returns a request body with the examples of the flow's inputs, quoted for a
// shell.
func (a *app) exampleBody(f flow.Flow) string {
	d, _ := document.ParseDocument(f.Draft)
	body := map[string]any{}
	for _, in := range contract.Inputs(d, a.library.Kinds) {
		if in.HasExample {
			body[in.Name] = in.Example
		}
	}
	return strings.ReplaceAll(string(flow.EncodeJSON(body)), "'", `'\''`)
}
