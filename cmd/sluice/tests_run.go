package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"sluice/cmd/sluice/client"
	"sluice/cmd/sluice/remote"
	"sluice/flow"
	"sluice/flow/cases"
)

// testRunCmd runs the cases of flow files in a temporary database, as a job of a CI server does: without a server, and in the mode replay without
// a key and without a connection. In the mode fill, it uses the credentials and prices of the configured database, and writes what it
// recorded to SLUG.tests.
type testRunCmd struct {
	Files []string `arg:"" name:"file" help:"Flow files with SLUG.tests.json beside them, or directories."`
	testOptions
	testOutput
}

// Run tests one flow after the other.
func (c testRunCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	files, err := remote.ReadTestFiles(c.Files)
	if err != nil {
		return err
	}
	t := &runTarget{}
	defer t.close()
	if err := c.open(ctx, cfg, t); err != nil {
		return err
	}
	if err := files.Load(ctx, t.api); err != nil {
		return err
	}
	var junit, markdown bytes.Buffer
	var states []cases.State
	var reports []json.RawMessage
	for _, slug := range files.Slugs {
		r, raw, err := c.test(ctx, t.api, s, slug)
		if err != nil {
			return err
		}
		if r == nil { // no case has one of the tags
			continue
		}
		states, reports = append(states, r.State), append(reports, raw)
		if !c.JSON {
			r.print(s, slug)
		}
		if err := c.collect(ctx, t.api, r, &junit, &markdown); err != nil {
			return err
		}
		if c.Mode == string(flow.CaseReplay) {
			continue
		}
		quiet := &streams{In: s.In, Out: s.Err, Err: s.Err}
		if _, err := remote.PullRecordings(ctx, t.api, quiet, r.FlowID, files.Dir(slug)); err != nil {
			return err
		}
	}
	if len(states) == 0 {
		return usageError("no case has one of these tags or IDs")
	}
	if c.JSON {
		if err := printJSON(s.Out, reports); err != nil {
			return err
		}
	}
	if c.JUnit != "" {
		text := xmlHead + "<testsuites>\n" + junit.String() + "</testsuites>\n"
		if err := os.WriteFile(c.JUnit, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if c.Markdown != "" {
		if err := os.WriteFile(c.Markdown, markdown.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return outcome(states...)
}

// open starts Sluice on a temporary database. Only a test that may call services uses the credentials of the configured database.
func (c testRunCmd) open(ctx context.Context, cfg *Config, t *runTarget) error {
	own := *cfg
	remove, err := own.useTemporaryDir()
	if err != nil {
		return err
	}
	t.onClose = append(t.onClose, func() { _ = remove() })
	o := appOptions{userCache: true}
	if c.Mode != string(flow.CaseReplay) && cfg.needDatabase() == nil {
		if o.secrets, err = cfg.openStore(ctx, slog.New(slog.DiscardHandler), storeOptions{mustExist: true}); err != nil {
			return err
		}
		t.onClose = append(t.onClose, func() { _ = o.secrets.Close() })
	}
	return t.startServer(ctx, own, o)
}

// test tests one flow. The report is nil if no case is selected.
func (c testRunCmd) test(ctx context.Context, api *client.Client, s *streams, slug string) (*testResult, []byte, error) {
	body, err := c.body()
	if err != nil {
		return nil, nil, err
	}
	chosen := body["tags"] != nil || body["cases"] != nil
	body["candidates"], body["children"] = []any{map[string]any{"version": "draft"}}, "draft"
	started, err := fetch[testResult](ctx, api, http.MethodPost, testsPath(slug), body)
	if e := flow.AsError(err); err != nil && e.Code == flow.CodeInputInvalid && len(e.Fields) == 1 && e.Fields[0].Code == "unknown" && chosen {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", slug, err)
	}
	started.printEstimate(s)
	r, raw, err := watchTest(ctx, api, s, slug, started.ID)
	return &r, raw, err
}

const xmlHead = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"

// collect adds the report of a flow to those of all flows.
func (c testRunCmd) collect(ctx context.Context, api *client.Client, r *testResult, junit, markdown *bytes.Buffer) error {
	if c.JUnit != "" {
		data, err := reportAs(ctx, api, r, "junit")
		if err != nil {
			return err
		}
		_, suites, _ := bytes.Cut(data, []byte("<testsuites"))
		_, suites, _ = bytes.Cut(suites, []byte(">\n"))
		suites, _, _ = bytes.Cut(suites, []byte("</testsuites>"))
		junit.Write(suites)
	}
	if c.Markdown != "" {
		data, err := reportAs(ctx, api, r, "markdown")
		if err != nil {
			return err
		}
		if markdown.Len() > 0 {
			markdown.WriteString("\n")
		}
		markdown.Write(data)
	}
	return nil
}
