package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"

	"sluice/cmd/sluice/client"
	"sluice/cmd/sluice/remote"
	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/knowledge"
)

// flowRunCmd runs a flow as an API client would: it starts a run, follows its steps
// and prints the outputs. Given a file instead of an ID, it publishes the document in
// a temporary database and runs it there, with the credentials and prices of the
// configured database. The exit code is 1 if the run does not succeed.
type flowRunCmd struct {
	Flow  string   `arg:"" name:"id-or-file" help:"ID or slug of a flow, or a document, which runs in a temporary database."`
	Input []string `short:"i" sep:"none" help:"Value of an input; for a file, @ and its path, or its URL." placeholder:"NAME=VALUE"`
	Dir   string   `name:"output-dir" help:"Save outputs that are files here." placeholder:"DIR" type:"path"`
	JSON  bool     `help:"Print the run object as JSON."`

	Knowledge string `help:"For a document: index the files of this directory as the knowledge bases that the flow names." placeholder:"DIR" type:"path"`

	Body     bodyFlags `body:"RunOptions" names:"version=-,webhook=-,global_webhook=-,save=-,children=-"`
	Draft    bool      `help:"Run the draft of the flow. Needs the scope manage. Inputs have the types of the live version."`
	Children string    `help:"What nodes run of other flows: the live (or pinned) version, or with --draft the draft." enum:"live,draft" default:"live"`
}

// Run runs a flow on the configured or local server or, if none is running, on a temporary
// one in this process. It always goes through the API, so that the run is listed, counted
// and limited like any other.
func (c flowRunCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	t := &runTarget{}
	defer t.close()
	if err := c.open(ctx, cfg, s, t); err != nil {
		return err
	}
	given, err := c.inputs(ctx, t.api, t.flowID)
	if err != nil {
		return notFound(err, c.Flow+" is neither a file nor a flow of the server; 'sluice flow list' lists the flows")
	}
	if err := c.setOptions(given); err != nil {
		return err
	}
	run, err := t.api.Start(ctx, t.flowID, given)
	if err != nil {
		return err
	}
	if err := remote.Follow(ctx, t.api, run, s); err != nil {
		return err
	}
	if run, err = t.api.Get(ctx, run.URLs["self"]); err != nil {
		return err
	}
	saved, err := c.save(ctx, t.api, run)
	if err != nil {
		return err
	}
	return remote.PrintRun(run, outputText(t.api, saved), c.JSON, s)
}

// setOptions adds the run options of the flags under the reserved name. Options with their
// default values are omitted, because servers of earlier releases do not know them.
func (c flowRunCmd) setOptions(given *flow.Object) error {
	options, err := c.Body.values()
	if err != nil {
		return err
	}
	if c.Draft {
		options["version"] = "draft"
	}
	if c.Children != "live" {
		options["children"] = c.Children
	}
	if len(options) > 0 {
		given.Set(contract.ReservedInput, options)
	}
	return nil
}

// runTarget is the server and the flow that a run is started with.
type runTarget struct {
	api     *client.Client
	flowID  string
	onClose []func() // in the order of creation; executed in reverse
}

// close undoes what was created for the run.
func (t *runTarget) close() {
	for _, f := range slices.Backward(t.onClose) {
		f()
	}
}

// open finds or starts the server that runs the flow.
func (c flowRunCmd) open(ctx context.Context, cfg *Config, s *streams, t *runTarget) error {
	_, err := os.Stat(c.Flow)
	isFile := err == nil || c.Flow == "-"
	if c.Knowledge != "" && !isFile {
		return usageError("--knowledge is for a document, which runs in a temporary database")
	}
	if t.flowID = c.Flow; !isFile && cfg.usesServer() {
		t.api, _, err = cfg.connect(s, needExisting)
		return err
	}
	missing := cfg.needDatabase()
	if isID := flow.ValidID(flow.PrefixFlow, c.Flow); isFile || !isID && (missing != nil || !document.ValidSlug(c.Flow)) {
		return c.openFile(ctx, cfg, s, t)
	}
	if t.api, err = cfg.runningServer(ctx); t.api != nil || err != nil {
		return err
	}
	if cfg.DatabaseURL != "" {
		return errors.New("no server is running here; start 'sluice serve' and run the flow again")
	}
	if missing != nil {
		return missing
	}
	return t.startServer(ctx, *cfg, appOptions{})
}

// openFile publishes the document in a temporary database, which is deleted after the run.
// The configured database, if it exists, is only read for its credentials and prices, so
// that running a file leaves no trace in it.
func (c flowRunCmd) openFile(ctx context.Context, cfg *Config, s *streams, t *runTarget) error {
	data, err := readDocument(s.In, c.Flow)
	if err != nil {
		return fmt.Errorf("%s is neither the ID of a flow nor a file: %w", c.Flow, err)
	}
	own := *cfg
	remove, err := own.useTemporaryDir()
	if err != nil {
		return err
	}
	t.onClose = append(t.onClose, func() { _ = remove() })
	if t.flowID, err = publishInto(ctx, own, remote.ImportFile{Name: c.Flow, Data: data}); err != nil {
		return err
	}
	if cfg.needDatabase() != nil {
		if err := t.startServer(ctx, own, appOptions{userCache: true}); err != nil {
			return err
		}
		return c.index(ctx, t.api, data, s)
	}
	secrets, err := cfg.openStore(ctx, slog.New(slog.DiscardHandler), storeOptions{mustExist: true})
	if err != nil {
		return err
	}
	t.onClose = append(t.onClose, func() { _ = secrets.Close() })
	if err := t.startServer(ctx, own, appOptions{secrets: secrets, userCache: true}); err != nil {
		return err
	}
	return c.index(ctx, t.api, data, s)
}

// index creates the knowledge bases that a document names, and adds the files of the directory of --knowledge to each.
func (c flowRunCmd) index(ctx context.Context, api *client.Client, data []byte, s *streams) error {
	if c.Knowledge == "" {
		return nil
	}
	slugs := basesOf(data)
	if len(slugs) == 0 {
		return usageError("--knowledge: the flow names no knowledge base")
	}
	for _, slug := range slugs {
		if _, err := api.Call(ctx, http.MethodPost, knowledgePath, map[string]any{"slug": slug}); err != nil {
			return err
		}
		quiet := &streams{In: s.In, Out: s.Err, Err: s.Err}
		if err := (knowledgeSyncCmd{Base: slug, Dir: c.Knowledge}).RunAPI(ctx, api, quiet); err != nil {
			return err
		}
	}
	return nil
}

// basesOf returns the slugs of the knowledge bases that the nodes of a document name, sorted.
func basesOf(data []byte) (slugs []string) {
	d, _ := document.ParseDocument(data)
	if d == nil {
		return nil
	}
	for i := range d.Nodes {
		text, _ := d.Nodes[i].Config["knowledge"].(string)
		for _, slug := range knowledge.References(text) {
			if knowledge.ValidSlug(slug) && !flow.ValidID(knowledge.PrefixBase, slug) {
				slugs = append(slugs, slug)
			}
		}
	}
	slices.Sort(slugs)
	return slices.Compact(slugs)
}

// publishInto creates the database of the settings with a flow, and returns its ID.
func publishInto(ctx context.Context, cfg Config, file remote.ImportFile) (id string, err error) {
	l := &localAPI{cfg: cfg, streams: &streams{Err: io.Discard}, need: needCreated}
	defer func() { err = errors.Join(err, l.close()) }()
	list, err := remote.Import{Files: []remote.ImportFile{file}, Publish: true}.Flows(ctx, &client.Client{Open: l.open})
	if err != nil {
		return "", err
	}
	return list[0].ID, nil
}

// startQuietly starts Sluice in this process on a free local port, without a log. Settings that
// would conflict with a server, or publish its addresses, are cleared.
func startQuietly(ctx context.Context, cfg Config, o appOptions) (*app, error) {
	cfg.Addr, cfg.PublicURL, cfg.MetricsAddr, cfg.PeerAddr = "127.0.0.1:0", "", "", ""
	return startApp(ctx, &cfg, slog.New(slog.DiscardHandler), o)
}

// startServer starts Sluice in this process; see startQuietly.
func (t *runTarget) startServer(ctx context.Context, cfg Config, o appOptions) error {
	a, err := startQuietly(ctx, cfg, o)
	if err != nil {
		return err
	}
	t.api = &client.Client{Base: a.local, Token: a.token, Temporary: true}
	t.onClose = append(t.onClose, func() { _ = a.stop() })
	return nil
}

// inputs parses the --input flags according to the input types of the flow: "7" is a number
// for a number input and a text for a text input.
func (c flowRunCmd) inputs(ctx context.Context, api *client.Client, flowID string) (*flow.Object, error) {
	types, err := api.InputTypes(ctx, flowID)
	if err != nil {
		return nil, err
	}
	given := &flow.Object{}
	for _, pair := range c.Input {
		name, text, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, usageError(fmt.Sprintf("--input %q is not name=value", pair))
		}
		if given.Has(name) {
			return nil, usageError(fmt.Sprintf("--input %s is given twice", name))
		}
		kind, known := types[name]
		if !known {
			kind = flow.TypeText // the server names the closest input
		}
		v, err := inputValue(ctx, api, kind, text)
		if err != nil {
			return nil, fmt.Errorf("--input %s: %w", name, err)
		}
		given.Set(name, v)
	}
	return given, nil
}
