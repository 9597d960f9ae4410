package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

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
	Apply    remote.Apply    `cmd:"" help:"Make the flows equal to files, all of them or none. Applying again changes nothing."`
	Diff     remote.Diff     `cmd:"" help:"Show what publishing files, or the draft of a flow, would change."`
	Pull     remote.Pull     `cmd:"" help:"Write the flows to files."`
	Fmt      flowFmtCmd      `cmd:"" help:"Rewrite flow files in canonical form."`
	Import   flowImportCmd   `cmd:"" help:"Import flow documents, all of them or none; prints each flow's ID."`
	Publish  flowPublishCmd  `cmd:"" help:"Publish the draft, or make an older version live."`
	Export   flowExportCmd   `cmd:"" help:"Print a flow's document."`
	List     flowListCmd     `cmd:"" help:"List flows."`
	Validate flowValidateCmd `cmd:"" help:"Check documents without importing them."`
	Secret   flowSecretCmd   `cmd:"" help:"Print or rotate the secret that signs a webhook of a flow."`
	Limits   flowLimitsCmd   `cmd:"" help:"Show or set the limits of a flow."`
	Run      flowRunCmd      `cmd:"" help:"Run a flow, by ID or straight from a file."`
	Test     flowTestCmd     `cmd:"" help:"Run the test cases of a flow of the server."`
}

// flowImportCmd imports documents in one transaction, so that a deployment of several flows
// is atomic.
type flowImportCmd struct {
	Files   []string `arg:"" name:"file" help:"Documents; - reads standard input." `
	Publish bool     `help:"Publish the flows too."`
	ID      string   `name:"id" help:"Replace the draft of this flow, by its ID or slug, instead of creating a new one."`
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

// RunAPI reads all files, and then imports all of them or none. It creates all new flows or none. With --id it replaces the
// draft of a flow; publishing is then a separate request, which can fail on its own.
func (c flowImportCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	files, err := c.read(s.In)
	if err != nil {
		return err
	}
	return remote.Import{Files: files, Publish: c.Publish, Flow: c.ID, JSON: c.JSON}.Send(ctx, api, s)
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
	ID            string `arg:"" help:"ID or slug of the flow."`
	Version       int64  `help:"Make this version live again instead of publishing the draft." placeholder:"N"`
	AllowBreaking bool   `help:"Publish even if callers break."`
	JSON          bool   `help:"Print as JSON."`
}

// RunAPI publishes through the API, which refuses breaking changes without
// --allow-breaking.
func (c flowPublishCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	return notFound(remote.Publish(ctx, api, s, c.ID, c.Version, c.AllowBreaking, c.JSON), noSuchVersion)
}

// noSuchVersion is the error for a flow or version that does not exist.
const noSuchVersion = "there is no such flow or version; 'sluice flow list' lists the flows"

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
	ID      string `arg:"" help:"ID or slug of the flow."`
	Version int64  `help:"A published version instead of the draft." placeholder:"N"`
}

// RunAPI prints the document, which has the names of credentials but no secrets.
func (c flowExportCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	version := "draft"
	if c.Version > 0 {
		version = strconv.FormatInt(c.Version, 10)
	}
	data, _, err := api.Document(ctx, c.ID, version)
	if err != nil {
		return notFound(err, noSuchVersion)
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
	return printList(s.Out, c.JSON, flows, "ID\tLIVE\tSLUG\tCHANGED\tNAME", func(f *client.Flow) string {
		live := "draft only"
		if f.Version != nil {
			live = fmt.Sprintf("v%d", *f.Version)
		}
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", f.ID, live, f.Slug, shortTime(f.UpdatedAt), f.Name)
	})
}

// flowValidateCmd checks documents by the same rules as publishing. Flows that they run are looked
// up among the files, then on the configured server or in the database, if there is one.
type flowValidateCmd struct {
	Files []string `arg:"" name:"file" help:"Documents, and files beside flows such as SLUG.triggers.json; - reads standard input."`
	JSON  bool     `help:"Print the problems as JSON."`
}

// RunAPI checks all files and reports all problems. Without a database, it looks up no flows.
func (c flowValidateCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	find := func(ref string) (bool, error) {
		_, _, err := api.Document(ctx, ref, "draft")
		if flow.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	}
	var documents [][]byte
	var places []int // of the documents among the files
	errs := make([]error, len(c.Files))
	texts := make([][]byte, len(c.Files))
	for i, name := range c.Files {
		data, err := readDocument(s.In, name)
		texts[i] = data
		problems, beside := remote.CheckCompanion(name, data)
		switch {
		case err != nil:
			errs[i] = err
		case !beside:
			documents, places = append(documents, data), append(places, i)
		case len(problems) > 0:
			errs[i] = &flow.Error{Code: flow.CodeDocumentInvalid, Message: fmt.Sprintf("The file has %s.", flow.Count(len(problems), "problem")), Fields: problems}
		}
	}
	kinds := &library.Library{Kinds: nodes.New(nodes.Deps{})}
	found, err := library.CheckTogether(kinds, documents, find)
	if errors.Is(err, db.ErrNoDatabase) {
		found, err = library.CheckTogether(kinds, documents, nil)
	}
	if err != nil {
		return err
	}
	for i, at := range places {
		errs[at] = found[i]
	}
	bad := 0
	results := []map[string]any{}
	for i, name := range c.Files {
		err := errs[i]
		if err != nil {
			bad++
		}
		results = append(results, map[string]any{"file": name, "valid": err == nil, "problems": problemsOf(err)})
		if !c.JSON {
			printCheck(s, name, texts[i], err)
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

// printCheck prints the result for one document: each problem with the line that it is on.
func printCheck(s *streams, name string, data []byte, err error) {
	if err == nil {
		fmt.Fprintf(s.Out, "%s: fine\n", name)
		return
	}
	e := flow.AsError(err)
	if len(e.Fields) == 0 {
		fmt.Fprintf(s.Out, "%s: %v\n", name, err)
	}
	for _, p := range e.Fields {
		fmt.Fprintln(s.Out, remote.Located(name, data, p))
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
