package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/cmd/sluice/client"
	"sluice/flow"
	"sluice/flow/wording"
	"sluice/handlers/admin"
)

// knowledgeCmd groups the commands for knowledge bases.
type knowledgeCmd struct {
	Create  knowledgeCreateCmd  `cmd:"" help:"Create a knowledge base."`
	List    knowledgeListCmd    `cmd:"" help:"List the knowledge bases."`
	Show    knowledgeShowCmd    `cmd:"" help:"Show a knowledge base and its documents."`
	Add     knowledgeAddCmd     `cmd:"" help:"Add files to a knowledge base, or replace them."`
	Sync    knowledgeSyncCmd    `cmd:"" help:"Make a knowledge base have the files of a directory."`
	Remove  knowledgeRemoveCmd  `cmd:"" help:"Remove a document from a knowledge base."`
	Search  knowledgeSearchCmd  `cmd:"" help:"Search a knowledge base."`
	Rebuild knowledgeRebuildCmd `cmd:"" help:"Change the model of a knowledge base that has documents."`
	Export  knowledgeExportCmd  `cmd:"" help:"Write all passages as JSON Lines."`
	Delete  knowledgeDeleteCmd  `cmd:"" help:"Delete a knowledge base with all of its documents."`
}

const knowledgePath = "/v1/knowledge"

const noKnowledge = "there is no such knowledge base; 'sluice knowledge list' lists them"

// basePath returns the path of a base in the API.
func basePath(base string) string { return knowledgePath + "/" + url.PathEscape(base) }

// documentPath returns the path of the document with a source.
func documentPath(base, part, source string) string {
	return basePath(base) + "/documents?" + url.Values{"source": {source}, "part": {part}}.Encode()
}

type knowledgeCreateCmd struct {
	Slug string    `arg:"" help:"Its name in flows: lower-case letters, digits and hyphens."`
	Body bodyFlags `body:"CreateKnowledge" names:"slug=-,passage_words=words"`
	JSON bool      `help:"Print as JSON."`
}

// RunAPI creates a base.
func (c knowledgeCreateCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	body, err := c.Body.values()
	if err != nil {
		return err
	}
	body["slug"] = c.Slug
	b, err := fetch[admin.KnowledgeBase](ctx, api, http.MethodPost, knowledgePath, body)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(s.Out, b)
	}
	_, err = fmt.Fprintln(s.Out, b.Slug)
	return err
}

type knowledgeListCmd struct {
	JSON bool `help:"Print as JSON."`
}

// RunAPI lists the bases.
func (c knowledgeListCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	list, err := fetch[admin.KnowledgeList](ctx, api, http.MethodGet, knowledgePath, nil)
	if err != nil {
		return err
	}
	return printList(s.Out, c.JSON, list.Bases, "SLUG\tNAME\tDOCUMENTS\tPASSAGES\tMODEL", func(b *admin.KnowledgeBase) string {
		return fmt.Sprintf("%s\t%s\t%d\t%d\t%s", b.Slug, b.Name, b.Documents, b.Passages, modelName(b.Model))
	})
}

// modelName returns what people call a model of a base.
func modelName(model string) string {
	if model == "" {
		return "built-in"
	}
	return model
}

type knowledgeShowCmd struct {
	Base string `arg:"" help:"Slug or ID of the knowledge base."`
	JSON bool   `help:"Print as JSON."`
}

// RunAPI shows a base and its documents.
func (c knowledgeShowCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	b, err := fetch[admin.KnowledgeBase](ctx, api, http.MethodGet, basePath(c.Base), nil)
	if err != nil {
		return notFound(err, noKnowledge)
	}
	if c.JSON {
		return printJSON(s.Out, b)
	}
	if _, err := fmt.Fprintf(s.Out, "%s (%s): %d documents, %d passages, %s model\n", b.Name, b.Slug, b.Documents, b.Passages, modelName(b.Model)); err != nil {
		return err
	}
	list, err := eachDocument(ctx, api, c.Base, "all_parts=true")
	if err != nil || len(list) == 0 {
		return err
	}
	return printList(s.Out, false, list, "SOURCE\tPART\tSTATE\tPASSAGES\tTITLE", func(d *admin.KnowledgeDocument) string {
		return fmt.Sprintf("%s\t%s\t%s\t%d\t%s", d.Source, d.Part, d.State, d.Passages, wording.Truncate(d.Title, 60))
	})
}

// eachDocument returns the documents of a base, page by page.
func eachDocument(ctx context.Context, api *client.Client, base, query string) (all []admin.KnowledgeDocument, err error) {
	for cursor := ""; ; {
		path := basePath(base) + "/documents?limit=100&" + query
		if cursor != "" {
			path += "&cursor=" + url.QueryEscape(cursor)
		}
		page, err := fetch[admin.KnowledgeDocuments](ctx, api, http.MethodGet, path, nil)
		if err != nil {
			return nil, notFound(err, noKnowledge)
		}
		all = append(all, page.Documents...)
		if page.NextCursor == nil {
			return all, nil
		}
		cursor = *page.NextCursor
	}
}

type knowledgeRemoveCmd struct {
	Base   string `arg:"" help:"Slug or ID of the knowledge base."`
	Source string `arg:"" help:"Source of the document."`
	Part   string `help:"Part that the document belongs to."`
	JSON   bool   `help:"Print as JSON."`
}

// RunAPI removes a document.
func (c knowledgeRemoveCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	d, err := fetch[admin.KnowledgeDocument](ctx, api, http.MethodDelete, documentPath(c.Base, c.Part, c.Source), nil)
	if err != nil {
		return notFound(err, "there is no such document; 'sluice knowledge show BASE' lists them")
	}
	if c.JSON {
		return printJSON(s.Out, d)
	}
	if _, err = fmt.Fprintf(s.Out, "removed %s\n", d.Source); err != nil || d.QuotedByTotal == 0 {
		return err
	}
	if _, err = fmt.Fprintf(s.Out, "Passages of it are still in %s, which the dashboard and the API can erase:\n", flow.Count(int(d.QuotedByTotal), "run")); err != nil {
		return err
	}
	for _, q := range d.QuotedBy {
		if _, err := fmt.Fprintf(s.Out, "  %s of %s\n", q.RunID, q.FlowID); err != nil {
			return err
		}
	}
	return nil
}

type knowledgeSearchCmd struct {
	Base  string    `arg:"" help:"Slug or ID of the knowledge base."`
	Query []string  `arg:"" help:"A question or words."`
	Body  bodyFlags `body:"SearchKnowledge" names:"query=-"`
	JSON  bool      `help:"Print as JSON."`
}

func (knowledgeSearchCmd) need() databaseNeed { return needRuns }

// RunAPI searches a base.
func (c knowledgeSearchCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	body, err := c.Body.values()
	if err != nil {
		return err
	}
	body["query"] = strings.Join(c.Query, " ")
	found, err := fetch[admin.KnowledgeFound](ctx, api, http.MethodPost, basePath(c.Base)+"/search", body)
	if err != nil {
		return notFound(err, noKnowledge)
	}
	if c.JSON {
		return printJSON(s.Out, found)
	}
	if len(found.Hits) == 0 {
		_, err = fmt.Fprintf(s.Out, "nothing found in %d passages\n", found.Searched)
		return err
	}
	for i := range found.Hits {
		h := &found.Hits[i]
		place := h.Title
		if len(h.Headings) > 0 && h.Headings[len(h.Headings)-1] != h.Title {
			place += " > " + h.Headings[len(h.Headings)-1]
		}
		if h.Page > 0 {
			place += fmt.Sprintf(", page %d", h.Page)
		}
		if _, err := fmt.Fprintf(s.Out, "%d. %s (%s; words %s, meaning %s)\n   %s\n", i+1, place, h.Source, rank(h.RankWords), rank(h.RankMeaning), wording.Truncate(wording.OneLine(h.Text), 300)); err != nil {
			return err
		}
	}
	return nil
}

// rank returns a rank for people.
func rank(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

type knowledgeExportCmd struct {
	Base string `arg:"" help:"Slug or ID of the knowledge base."`
}

// RunAPI writes all passages.
func (c knowledgeExportCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	raw, err := api.Call(ctx, http.MethodGet, basePath(c.Base)+"/export", nil)
	if err != nil {
		return notFound(err, noKnowledge)
	}
	_, err = s.Out.Write(raw)
	return err
}

type knowledgeDeleteCmd struct {
	Base  string `arg:"" help:"Slug or ID of the knowledge base."`
	Force bool   `help:"Also if live versions of flows name it."`
}

// RunAPI deletes a base.
func (c knowledgeDeleteCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	path := basePath(c.Base)
	if c.Force {
		path += "?force=true"
	}
	if _, err := api.Call(ctx, http.MethodDelete, path, nil); err != nil {
		return notFound(err, noKnowledge)
	}
	_, err := fmt.Fprintf(s.Out, "deleted %s\n", c.Base)
	return err
}

// indexWait is how long one request waits for a run.
const indexWait = 60 * time.Second
