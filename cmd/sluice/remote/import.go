package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sluice/cmd/sluice/client"
	"sluice/flow"
)

// Imported is a flow that was imported from a file, as --json prints it.
type Imported struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	File    string `json:"file"`
	Version int64  `json:"version,omitempty"` // live version; 0 if not published

	Losses []string `json:"losses,omitempty"` // parts of a converted export that the flow lacks
}

// ImportFile is a file with a document to import.
type ImportFile struct {
	Name   string
	Data   []byte
	Losses []string // parts of a converted export that the document lacks
}

// PrintImported prints the ID of each imported flow on a line of its own, and the losses of
// conversions on standard error. As JSON it prints one array.
func PrintImported(s *Streams, list []Imported, asJSON bool) error {
	if asJSON {
		raw, err := json.Marshal(list)
		if err != nil {
			return err
		}
		return PrintRaw(s.Out, raw)
	}
	for i := range list {
		for _, loss := range list[i].Losses {
			fmt.Fprintf(s.Err, "%s: %s\n", list[i].File, loss)
		}
		fmt.Fprintln(s.Out, list[i].ID)
	}
	return nil
}

// Import is an import of documents over HTTP.
type Import struct {
	Files   []ImportFile
	Publish bool
	Flow    string // flow whose draft the only file replaces; "" creates new flows
	JSON    bool
}

// Send imports the documents, all or none, and prints the IDs of the flows. With Flow set it
// replaces the draft of that flow instead.
func (m Import) Send(ctx context.Context, api *client.Client, s *Streams) error {
	list, err := m.Flows(ctx, api)
	if err != nil {
		return err
	}
	return PrintImported(s, list, m.JSON)
}

// Flows is Send without output.
func (m Import) Flows(ctx context.Context, api *client.Client) ([]Imported, error) {
	sources, problems := make([]*source, len(m.Files)), []string{}
	for i, f := range m.Files {
		value, err := flow.DecodeJSON(bytes.TrimPrefix(f.Data, []byte("\ufeff")))
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s:%d: %v", f.Name, lastLine(f.Data), err))
		}
		sources[i] = &source{path: f.Name, data: f.Data, value: value}
	}
	if len(problems) > 0 {
		return nil, errors.New(strings.Join(problems, "\n  "))
	}
	if m.Flow != "" {
		return m.replace(ctx, api, sources[0])
	}
	documents := make([]any, len(sources))
	for i, f := range sources {
		documents[i] = f.value
	}
	raw, err := api.Call(ctx, "POST", "/v1/flow/import", map[string]any{"documents": documents, "publish": m.Publish})
	if err != nil {
		return nil, m.importError(err, sources)
	}
	var made struct {
		Flows []struct {
			ID      string `json:"flow_id"`
			Name    string `json:"name"`
			Version int64  `json:"version"`
		} `json:"flows"`
	}
	if err := json.Unmarshal(raw, &made); err != nil {
		return nil, err
	}
	list := make([]Imported, len(made.Flows))
	for i, f := range made.Flows {
		list[i] = Imported{f.ID, f.Name, m.Files[i].Name, f.Version, m.Files[i].Losses}
	}
	return list, nil
}

// importError returns an error that names the file and line of each problem. Errors without fields
// are returned unchanged.
func (m Import) importError(err error, sources []*source) error {
	e, ok := errors.AsType[*flow.Error](err)
	if !ok || len(e.Fields) == 0 {
		return err
	}
	return fmt.Errorf("%s\n  %s", e.Message, strings.Join(locate(sources, e.Fields), "\n  "))
}

// checkSlug returns an error if a file has another slug than the flow whose document is data. The
// server would rename the flow.
func checkSlug(f *source, data []byte) error {
	var sent, stored struct {
		Slug string `json:"slug"`
	}
	if json.Unmarshal(f.data, &sent) != nil || json.Unmarshal(data, &stored) != nil || sent.Slug == "" || sent.Slug == stored.Slug {
		return nil // other faults are reported by the server
	}
	return fmt.Errorf("%s has the slug %q, but --id names the flow %q; remove the slug from the file, or rename the flow", f.path, sent.Slug, stored.Slug)
}

// replace replaces the draft of a flow with a document, and publishes it if m.Publish is set.
// These are two requests, so the new draft stays even if publishing fails.
func (m Import) replace(ctx context.Context, api *client.Client, f *source) ([]Imported, error) {
	data, tag, err := api.Document(ctx, m.Flow, "draft")
	if flow.IsNotFound(err) {
		return nil, errors.New("there is no such flow; 'sluice flow list' lists the flows")
	}
	if err == nil {
		err = checkSlug(f, data)
	}
	var updated client.Flow
	if err == nil {
		updated, _, err = api.ReplaceDraft(ctx, m.Flow, tag, flow.EncodeJSON(f.value))
	}
	if e, ok := errors.AsType[*flow.Error](err); ok && len(e.Fields) > 0 {
		list := make([]string, len(e.Fields))
		for i, p := range e.Fields {
			list[i] = f.located(p)
		}
		return nil, fmt.Errorf("%s\n  %s", e.Message, strings.Join(list, "\n  "))
	}
	if err != nil {
		return nil, err
	}
	done := Imported{ID: updated.ID, Name: updated.Name, File: m.Files[0].Name, Losses: m.Files[0].Losses}
	if m.Publish {
		if _, done.Version, err = publish(ctx, api, updated.ID, map[string]any{}); err != nil {
			return nil, fmt.Errorf("the draft was replaced, but not published: %w", err)
		}
	}
	return []Imported{done}, nil
}
