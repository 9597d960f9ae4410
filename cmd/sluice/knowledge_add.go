package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"sluice/cmd/sluice/client"
	"sluice/flow"
	"sluice/handlers/admin"
)

type knowledgeAddCmd struct {
	Base string    `arg:"" help:"Slug or ID of the knowledge base."`
	File []string  `arg:"" help:"Files, or URLs."`
	Body bodyFlags `body:"AddDocument" names:"file=-,url=-,text=-,metadata=meta"`
	JSON bool      `help:"Print as JSON."`
}

// indexed is the outcome for a document.
type indexed struct {
	Source   string `json:"source"`
	State    string `json:"state"`
	Passages int64  `json:"passages"`
	Error    string `json:"error,omitempty"`
	RunID    string `json:"run_id"`
}

// RunAPI adds the files one after the other.
func (c knowledgeAddCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	var list []indexed
	for _, file := range c.File {
		body, err := c.Body.values()
		if err != nil {
			return err
		}
		if body["source"] != nil && len(c.File) > 1 {
			return usageError("--source is for one file; it identifies the document")
		}
		if body["source"] == nil {
			body["source"] = filepath.ToSlash(file)
		}
		one, err := addFile(ctx, api, c.Base, file, body)
		if err != nil {
			return err
		}
		list = append(list, *one)
	}
	return reportIndexed(s, c.JSON, list)
}

func (knowledgeAddCmd) need() databaseNeed  { return needRuns }
func (knowledgeSyncCmd) need() databaseNeed { return needRuns }

// addFile adds a file or a URL to a base, and waits until it is indexed.
func addFile(ctx context.Context, api *client.Client, base, file string, body map[string]any) (*indexed, error) {
	if strings.HasPrefix(file, "https://") || strings.HasPrefix(file, "http://") {
		body["url"] = file
	} else {
		uploaded, err := api.Upload(ctx, file)
		if err != nil {
			return nil, err
		}
		body["file"] = uploaded["file"]
	}
	started, err := fetch[admin.KnowledgeAdded](ctx, api, http.MethodPost, basePath(base)+"/documents", body)
	if err != nil {
		return nil, notFound(err, noKnowledge)
	}
	return awaitIndexed(ctx, api, started, flow.Text(body["source"]))
}

// awaitIndexed waits for the end of a run that indexes.
func awaitIndexed(ctx context.Context, api *client.Client, started admin.KnowledgeAdded, source string) (*indexed, error) {
	one := &indexed{Source: source, RunID: string(started.RunID)}
	for {
		run, err := fetch[struct {
			Status  string
			Error   *flow.Error
			Outputs struct {
				Document struct{ State string }
				Passages int64
			}
		}](ctx, api, http.MethodGet, fmt.Sprintf("%s?wait=%.0f", started.URL, indexWait.Seconds()), nil)
		if err != nil {
			return nil, err
		}
		if !flow.RunState(run.Status).Ended() {
			continue
		}
		one.State, one.Passages = run.Outputs.Document.State, run.Outputs.Passages
		if run.Status != string(flow.RunSucceeded) {
			one.State = run.Status
			if run.Error != nil {
				one.Error = run.Error.Message
			}
		}
		return one, nil
	}
}

// errNotIndexed is returned by a command if a document failed.
var errNotIndexed = errors.New("not every document could be added; earlier versions of them are still searched")

// reportIndexed prints the outcome for documents.
func reportIndexed(s *streams, asJSON bool, list []indexed) error {
	err := printList(s.Out, asJSON, list, "SOURCE\tSTATE\tPASSAGES\tERROR", func(i *indexed) string {
		return fmt.Sprintf("%s\t%s\t%d\t%s", i.Source, i.State, i.Passages, i.Error)
	})
	if err == nil && slices.ContainsFunc(list, func(i indexed) bool { return i.State == string(flow.RunFailed) || i.State == string(flow.RunCanceled) }) {
		err = errNotIndexed
	}
	return err
}

type knowledgeSyncCmd struct {
	Base       string `arg:"" help:"Slug or ID of the knowledge base."`
	Dir        string `arg:"" help:"Directory. Hidden files and formats that cannot be read are left out." type:"path"`
	Prefix     string `help:"Begins the sources of the files. Only documents with it are removed." placeholder:"TEXT"`
	Part       string `help:"Part that the documents belong to."`
	AllowLarge bool   `help:"Remove more than half of the documents if their files are gone."`
	JSON       bool   `help:"Print as JSON."`
}

// syncedFormats are the endings of files that a sync adds.
var syncedFormats = []string{".pdf", ".docx", ".xlsx", ".pptx", ".odt", ".rtf", ".eml", ".html", ".htm", ".md", ".csv", ".tsv", ".txt"}

// RunAPI adds the files of the directory, and removes documents whose files are gone.
func (c knowledgeSyncCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	files, err := documentFiles(c.Dir)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s has no documents, so nothing was changed", c.Dir)
	}
	known, err := eachDocument(ctx, api, c.Base, "part="+url.QueryEscape(c.Part))
	if err != nil {
		return err
	}
	var gone []string
	total := 0
	for i := range known {
		if source := known[i].Source; strings.HasPrefix(source, c.Prefix) {
			total++
			if !slices.Contains(files, strings.TrimPrefix(source, c.Prefix)) {
				gone = append(gone, source)
			}
		}
	}
	if 2*len(gone) > total && !c.AllowLarge {
		return fmt.Errorf("%d of %d documents would be removed, so nothing was changed; check the directory, or use --allow-large", len(gone), total)
	}
	var list []indexed
	for _, file := range files {
		one, err := addFile(ctx, api, c.Base, filepath.Join(c.Dir, filepath.FromSlash(file)), map[string]any{"source": c.Prefix + file, "part": c.Part})
		if err != nil {
			return err
		}
		list = append(list, *one)
	}
	for _, source := range gone {
		if _, err := api.Call(ctx, http.MethodDelete, documentPath(c.Base, c.Part, source), nil); err != nil {
			return err
		}
		list = append(list, indexed{Source: source, State: "removed"})
	}
	return reportIndexed(s, c.JSON, list)
}

// documentFiles returns the documents below a directory, with slashes, by name.
func documentFiles(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasPrefix(d.Name(), ".") && path != dir {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() && slices.Contains(syncedFormats, strings.ToLower(filepath.Ext(d.Name()))) {
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			files = append(files, filepath.ToSlash(name))
		}
		return nil
	})
	return files, err
}
