package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"sluice/cmd/sluice/client"
	"sluice/cmd/sluice/remote"
	"sluice/db"
	"sluice/flow"
	"sluice/flow/document/aiflow"
	"sluice/flow/library"
	"sluice/nodes"
)

// flowCmd groups the commands for flows as documents, which can be kept in a repository and
// deployed from CI.
type flowCmd struct {
	Apply    remote.Apply    `cmd:"" help:"Make the flows of a server equal to files, all of them or none. Applying again changes nothing."`
	Diff     remote.Diff     `cmd:"" help:"Show what publishing files, or the draft of a flow, would change on a server."`
	Pull     remote.Pull     `cmd:"" help:"Write the flows of a server to files."`
	Fmt      flowFmtCmd      `cmd:"" help:"Rewrite flow files in canonical form."`
	Import   flowImportCmd   `cmd:"" help:"Import flow documents, all of them or none; prints each flow's ID."`
	Publish  flowPublishCmd  `cmd:"" help:"Publish the draft, or make an older version live."`
	Export   flowExportCmd   `cmd:"" help:"Print a flow's document."`
	List     flowListCmd     `cmd:"" help:"List flows."`
	Validate flowValidateCmd `cmd:"" help:"Check documents without importing them."`
	Secret   flowSecretCmd   `cmd:"" help:"Print or rotate the secret that signs a webhook of a flow."`
	Limits   flowLimitsCmd   `cmd:"" help:"Show or set the limits of a flow."`
	Run      flowRunCmd      `cmd:"" help:"Run a flow, by ID or straight from a file."`
}

// library returns a library of flows for commands that work on the database directly. Its
// node kinds have no clients, because commands check and publish flows but never run them.
func (c *Config) library(store *db.Store) *library.Library {
	return &library.Library{Store: store, Kinds: nodes.New(nodes.Deps{}), IDs: store.IDs(), RefuseUnbound: c.refuseUnbound()}
}

// flowImportCmd imports documents in one transaction, so that a deployment of several flows
// is atomic.
type flowImportCmd struct {
	Files   []string `arg:"" name:"file" help:"Documents; - reads standard input." `
	Publish bool     `help:"Publish the flows too."`
	ID      string   `name:"id" help:"Replace the draft of this flow, by its ID, instead of creating a new one; on a server also by its slug."`
	JSON    bool     `help:"Print as JSON."`
}

// read reads all files and converts exports of AI-Flow. It runs before anything is sent or
// stored, so that one unreadable file stops the whole import.
func (c flowImportCmd) read(in io.Reader) ([]remote.ImportFile, error) {
	if c.ID != "" && len(c.Files) > 1 {
		return nil, usageError("--id replaces one flow, so give one file")
	}
	list := make([]remote.ImportFile, len(c.Files))
	for i, name := range c.Files {
		data, lost, err := readConverted(in, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list[i] = remote.ImportFile{Name: name, Data: data}
		for _, n := range lost {
			list[i].Losses = append(list[i].Losses, n.Text)
		}
	}
	return list, nil
}

// Run imports all files, or none of them if one is rejected. All files are read before
// the database is changed.
func (c flowImportCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	files, err := c.read(s.In)
	if err != nil {
		return err
	}
	store, err := openStore(ctx, cfg, s)
	if err != nil {
		return err
	}
	defer store.Close()
	sources := make([]library.ImportSource, len(files))
	for i, f := range files {
		sources[i] = library.ImportSource{Data: f.Data, FlowID: flow.FlowID(c.ID)}
	}
	by := ""
	if c.Publish {
		by = "cli"
	}
	list, err := cfg.library(store).ImportAll(ctx, cfg.workspace(), sources, by)
	if err != nil {
		return c.importError(err)
	}
	results := make([]remote.Imported, len(list))
	for i, one := range list {
		results[i] = remote.Imported{ID: string(one.Flow.ID), Name: one.Flow.Name, File: c.Files[i], Version: one.Version.Number, Losses: files[i].Losses}
	}
	return remote.PrintImported(s, results, c.JSON)
}

// RunAPI imports over HTTP. It creates all new flows or none. With --id it replaces the
// draft of a flow; publishing is then a separate request, which can fail on its own.
func (c flowImportCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	files, err := c.read(s.In)
	if err != nil {
		return err
	}
	return remote.Import{Files: files, Publish: c.Publish, Flow: c.ID, JSON: c.JSON}.Send(ctx, api, s)
}

// importError returns an error that names every file that cannot be imported and
// says that none was imported.
func (c flowImportCmd) importError(err error) error {
	problems, ok := errors.AsType[library.ImportErrors](err)
	if !ok {
		return err
	}
	var list []string
	for i, err := range problems {
		if err != nil {
			list = append(list, fmt.Sprintf("%s: %v", c.Files[i], err))
		}
	}
	if len(c.Files) > 1 {
		list = append(list, "Nothing was imported.")
	}
	return errors.New(strings.Join(list, "\n"))
}

// readDocument reads a file, or standard input for "-", and converts exports of AI-Flow. It
// reads one byte more than a document may have, so that the parser reports a document that
// is too large.
func readDocument(in io.Reader, name string) ([]byte, error) {
	data, _, err := readConverted(in, name)
	return data, err
}

// readConverted is like readDocument and also returns the losses of a conversion.
func readConverted(in io.Reader, name string) (_ []byte, losses []aiflow.Note, err error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, nil, fmt.Errorf("it cannot be read: %w", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, flow.MaxDocumentBytes+1))
	if err != nil || !aiflow.Recognize(data) {
		return data, nil, err
	}
	d, report, err := aiflow.Convert(data, nodes.New(nodes.Deps{}))
	if err != nil {
		return nil, nil, err
	}
	return d.Compact(), aiflow.Losses(report), nil
}

// flowPublishCmd makes the draft the live version, or rolls back to an older one.
// Runs in progress finish on the version that they started with.
type flowPublishCmd struct {
	ID            string `arg:"" help:"ID of the flow; on a server also its slug."`
	Version       int64  `help:"Make this version live again instead of publishing the draft." placeholder:"N"`
	AllowBreaking bool   `help:"On a server: publish even if callers break."`
	JSON          bool   `help:"Print as JSON."`
}

// RunAPI publishes through the API, which refuses breaking changes without
// --allow-breaking.
func (c flowPublishCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	return remote.Publish(ctx, api, s, c.ID, c.Version, c.AllowBreaking, c.JSON)
}

// RunOn publishes the draft or makes an older version live.
func (c flowPublishCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	library := cfg.library(store)
	v, created, err := flow.Version{Number: c.Version}, false, error(nil)
	if c.Version != 0 {
		err = library.SetLiveVersion(ctx, cfg.workspace(), flow.FlowID(c.ID), c.Version, "cli")
	} else {
		v, created, err = library.Publish(ctx, cfg.workspace(), flow.FlowID(c.ID), "cli")
	}
	if err != nil {
		return notFound(err, "there is no such flow or version; 'sluice flow list' lists the flows")
	}
	if c.JSON {
		return printJSON(s.Out, map[string]any{"id": c.ID, "version": v.Number, "created": created, "summary": v.Summary})
	}
	if created || c.Version != 0 {
		fmt.Fprintf(s.Out, "Version %d is live. %s\n", v.Number, v.Summary)
	} else {
		fmt.Fprintf(s.Out, "Nothing changed since version %d, which is live.\n", v.Number)
	}
	return nil
}

// notFound replaces a not-found error with a sentence, which should name the command that
// lists the existing objects. Other errors are returned unchanged.
func notFound(err error, sentence string) error {
	if flow.AsError(err).Code == flow.CodeNotFound {
		return fmt.Errorf("%s", sentence)
	}
	return err
}

// flowExportCmd prints the document of a flow in canonical form: two exports of the same
// flow are equal byte for byte, and diffs are readable.
type flowExportCmd struct {
	ID      string `arg:"" help:"ID of the flow; on a server also its slug."`
	Version int64  `help:"A published version instead of the draft." placeholder:"N"`
}

// RunAPI prints the document that the API returns, which is in the same form.
func (c flowExportCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	version := "draft"
	if c.Version > 0 {
		version = strconv.FormatInt(c.Version, 10)
	}
	data, _, err := api.Document(ctx, c.ID, version)
	if err != nil {
		return notFound(err, "there is no such flow or version; 'sluice flow list' lists the flows")
	}
	_, err = s.Out.Write(data)
	return err
}

// RunOn prints the document, which has the names of credentials but no secrets.
func (c flowExportCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	data, err := cfg.library(store).Export(ctx, cfg.workspace(), flow.FlowID(c.ID), c.Version)
	if err != nil {
		return notFound(err, "there is no such flow or version; 'sluice flow list' lists the flows")
	}
	_, err = s.Out.Write(data)
	return err
}

// flowListCmd lists the flows of a workspace.
type flowListCmd struct {
	JSON bool `help:"Print as JSON."`
}

// RunAPI lists the flows that the key may call.
func (c flowListCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	flows, err := api.ListFlows(ctx)
	if err != nil {
		return err
	}
	object := func(f *client.Flow) client.Flow { return *f }
	return printList(s.Out, c.JSON, flows, object, "ID\tLIVE\tSLUG\tNAME", func(f *client.Flow) string {
		live := "draft only"
		if f.Version != nil {
			live = fmt.Sprintf("v%d", *f.Version)
		}
		return fmt.Sprintf("%s\t%s\t%s\t%s", f.ID, live, f.Slug, f.Name)
	})
}

// RunOn lists the flows.
func (c flowListCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	flows, err := allFlows(ctx, cfg, store)
	if err != nil {
		return err
	}
	return printList(s.Out, c.JSON, flows, flowJSON, "ID\tLIVE\tCHANGED\tNAME", func(f *flow.Flow) string {
		live := "draft only"
		if f.LiveVersion > 0 {
			live = fmt.Sprintf("v%d", f.LiveVersion)
		}
		return fmt.Sprintf("%s\t%s\t%s\t%s", f.ID, live, shortTime(f.UpdatedAt), f.Name)
	})
}

// flowJSON returns a flow as JSON. The version is null for a flow that was never
// published.
func flowJSON(f *flow.Flow) map[string]any {
	return map[string]any{"id": f.ID, "name": f.Name, "description": f.Description, "version": positiveOrNil(f.LiveVersion), "updated_at": timeOrNil(f.UpdatedAt)}
}

// allFlows reads all flows, page by page.
func allFlows(ctx context.Context, cfg *Config, store *db.Store) ([]flow.Flow, error) {
	const page = 200
	var all []flow.Flow
	for after := flow.FlowID(""); ; after = all[len(all)-1].ID {
		list, err := store.ListFlows(ctx, cfg.workspace(), after, page)
		all = append(all, list...)
		if err != nil || len(list) < page {
			return all, err
		}
	}
}

// flowValidateCmd checks documents by the same rules as publishing. Flows that they run are looked
// up among the files, then on the configured server or in the database, if there is one.
type flowValidateCmd struct {
	Files []string `arg:"" name:"file" help:"Documents; - reads standard input."`
	JSON  bool     `help:"Print the problems as JSON."`
}

// Run checks all files and reports all problems. It opens the database only to look up a flow.
func (c flowValidateCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	if cfg.needDatabase() != nil {
		return c.check(s, nil)
	}
	var store *db.Store
	defer func() {
		if store != nil {
			_ = store.Close() // it was only read
		}
	}()
	return c.check(s, func(ref string) (found bool, err error) {
		if store == nil {
			if store, err = openStore(ctx, cfg, s); err != nil {
				return false, err
			}
		}
		return (&library.Calls{Library: cfg.library(store), WorkspaceID: cfg.workspace()}).Exists(ctx, ref)
	})
}

// RunAPI is Run with the flows of a server.
func (c flowValidateCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	return c.check(s, func(ref string) (bool, error) {
		_, _, err := api.Document(ctx, ref, "draft")
		if flow.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// check checks all files. find reports whether a flow exists that is not among them.
func (c flowValidateCmd) check(s *streams, find func(ref string) (bool, error)) error {
	documents, unreadable := make([][]byte, len(c.Files)), make([]error, len(c.Files))
	for i, name := range c.Files {
		documents[i], unreadable[i] = readDocument(s.In, name)
	}
	errs, err := library.CheckTogether(&library.Library{Kinds: nodes.New(nodes.Deps{})}, documents, find)
	if err != nil {
		return err
	}
	bad := 0
	results := []map[string]any{}
	for i, name := range c.Files {
		err := cmp.Or(unreadable[i], errs[i])
		if err != nil {
			bad++
		}
		results = append(results, map[string]any{"file": name, "valid": err == nil, "problems": problemsOf(err)})
		if !c.JSON {
			printCheck(s, name, err)
		}
	}
	if c.JSON {
		if err := printJSON(s.Out, results); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d documents cannot be published", bad, len(c.Files))
	}
	return nil
}

// printCheck prints the result for one document.
func printCheck(s *streams, name string, err error) {
	if err == nil {
		fmt.Fprintf(s.Out, "%s: fine\n", name)
	} else {
		fmt.Fprintf(s.Out, "%s: %v\n", name, err)
	}
}

// problemsOf returns the problems of a document as JSON; a file that cannot be read
// or parsed has one.
func problemsOf(err error) []flow.Problem {
	if err == nil {
		return []flow.Problem{}
	}
	if e := flow.AsError(err); len(e.Fields) > 0 {
		return e.Fields
	}
	return []flow.Problem{{Code: "unreadable", Detail: err.Error()}}
}
