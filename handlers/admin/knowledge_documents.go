package admin

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"

	"sluice/flow"
	"sluice/flow/knowledge"
	"sluice/handlers/api"
)

// maxDocumentBody bounds a request with a text, in bytes. JSON escapes make texts longer.
const maxDocumentBody = 24 << 20

// addDocumentBody declares the body of an addition.
var addDocumentBody = api.Body[knowledge.Addition]{Name: "AddDocument", Of: "a document", Limit: maxDocumentBody, Example: schema{"source": "refunds.md", "text": "# Refunds\n\nA refund takes five days."}, Fields: []api.Field[knowledge.Addition]{
	api.Member("file", "ID of an uploaded file. Exactly one of file, url and text.", api.TextType, func(a *knowledge.Addition) *string { return &a.File }),
	api.Member("url", "URL of a file or web page, which the run fetches.", api.TextType, func(a *knowledge.Addition) *string { return &a.URL }),
	api.Member("text", "The text itself, with or without Markdown; 16 MiB at most.", api.TextType, func(a *knowledge.Addition) *string { return &a.Text }),
	api.Member("source", "What identifies the document: a path, a URL or an ID. Default: the name of the file, or the URL.", api.TextType, func(a *knowledge.Addition) *string { return &a.Source }),
	api.Member("part", "The customer, tenant or project that it belongs to.", api.TextType, func(a *knowledge.Addition) *string { return &a.Part }),
	api.Member("title", "Default: the title in the document.", api.TextType, func(a *knowledge.Addition) *string { return &a.Title }),
	api.Member("link", "Where people can read it. Default: the URL.", api.TextType, func(a *knowledge.Addition) *string { return &a.Link }),
	api.Member("metadata", "Texts, numbers and booleans by name, for filters: 20 at most, 4 KiB.", api.ObjectType, func(a *knowledge.Addition) **flow.Object { return &a.Metadata }),
	api.Member("allow_truncated", "Adds the part of the document that can be read.", api.BoolType, func(a *knowledge.Addition) *bool { return &a.AllowTruncated }),
}}

// searchBody declares the body of a search.
var searchBody = api.Body[knowledge.Query]{Name: "SearchKnowledge", Of: "a search", Example: schema{"query": "How long does a refund take?"}, Fields: []api.Field[knowledge.Query]{
	api.Member("query", "A question or words; quoted phrases must occur.", api.TextType, func(q *knowledge.Query) *string { return &q.Text }).Required("Send a question or words."),
	api.Member("part", "Only documents of this part. Default: those without a part.", api.TextType, func(q *knowledge.Query) *string { return &q.Part }),
	api.Member("all_parts", "Searches the documents of all parts.", api.BoolType, func(q *knowledge.Query) *bool { return &q.AllParts }),
	api.Member("mode", "Default: both.", api.EnumType("not_allowed", knowledge.ModeBoth, knowledge.ModeWords, knowledge.ModeMeaning), func(q *knowledge.Query) *string { return &q.Mode }),
	api.SetMember("top", "How many passages. Default: 5.", countTo(1, knowledge.MaxTop), func(q *knowledge.Query, n int64) { q.Top = int(n) }),
	api.SetMember("per_document", "How many passages of one document, at most. Default: 3.", countTo(1, knowledge.MaxTop), func(q *knowledge.Query, n int64) { q.PerDoc = int(n) }),
	api.SetMember("neighbors", "How many passages before and after each. Default: 0.", countTo(0, 5), func(q *knowledge.Query, n int64) { q.Around = int(n) }),
	api.Member("where", "Condition (CEL) over metadata and source.", api.TextType, func(q *knowledge.Query) *string { return &q.WhereKey }),
	api.SetMember("min_meaning", "Passages without a word in common are left out below this similarity. Default: that of the base.", similarityType, func(q *knowledge.Query, f float64) { q.Minimum = &f }),
}}

// countTo returns the type of whole numbers within bounds.
func countTo(least, most float64) api.Type[int64] {
	return api.Type[int64]{Schema: schema{"type": "integer", "minimum": least, "maximum": most}, Wanted: fmt.Sprintf("a whole number from %.0f to %.0f", least, most), As: func(v any) (int64, bool) { return api.AsWhole(v, least, most) }}
}

// KnowledgeDocument is the JSON of a document.
type KnowledgeDocument struct {
	ID        string             `json:"id"`
	Source    string             `json:"source" doc:"What identifies it within its part."`
	Part      string             `json:"part"`
	Title     string             `json:"title"`
	Link      string             `json:"link"`
	Metadata  *flow.Object       `json:"metadata"`
	Format    string             `json:"format" doc:"Such as pdf or markdown."`
	State     string             `json:"state" doc:"ready, or failed: its last version could not be read; an earlier one is searched if passages is not 0."`
	Error     *string            `json:"error" doc:"Why it failed, or null."`
	RunID     *flow.RunID        `json:"run_id" doc:"The run that indexed it, or failed to."`
	Passages  int64              `json:"passages"`
	Bytes     int64              `json:"bytes"`
	CreatedAt api.Time           `json:"created_at"`
	ChangedAt api.Time           `json:"changed_at"`
	Texts     []KnowledgePassage `json:"texts,omitempty" doc:"Its first passages; only for a single document."`
	// QuotedBy is nil in lists.
	QuotedBy      []KnowledgeQuote `json:"quoted_by,omitempty" doc:"The latest runs, up to 1,000, that found passages of it and still have them, also of earlier versions; only for a single or removed document. Erase them if its text must not be kept."`
	QuotedByTotal int64            `json:"quoted_by_total,omitempty" doc:"How many there are."`
}

// KnowledgeQuote is a run that found passages of a document.
type KnowledgeQuote struct {
	RunID     flow.RunID  `json:"run_id"`
	FlowID    flow.FlowID `json:"flow_id"`
	URL       string      `json:"url" doc:"Path of the run in the API."`
	CreatedAt api.Time    `json:"created_at"`
}

// KnowledgePassage is the JSON of a passage.
type KnowledgePassage struct {
	Text     string       `json:"text"`
	Headings []string     `json:"headings"`
	Page     int          `json:"page" doc:"Counted from 1; 0 if the document has no pages."`
	From     int          `json:"from" doc:"Where it begins in the text of the document, in bytes."`
	To       int          `json:"to"`
	Row      *flow.Object `json:"row,omitempty" doc:"The cells, if it is the row of a table."`
}

// KnowledgeDocuments is a page of documents.
type KnowledgeDocuments struct {
	Documents  []KnowledgeDocument `json:"documents"`
	NextCursor *string             `json:"next_cursor"`
}

// KnowledgeAdded says which run indexes a document.
type KnowledgeAdded struct {
	RunID  flow.RunID  `json:"run_id"`
	FlowID flow.FlowID `json:"flow_id"`
	URL    string      `json:"url" doc:"Path of the run in the API."`
}

// KnowledgeHit is a passage that a search found.
type KnowledgeHit struct {
	KnowledgePassage
	Document    string             `json:"document" doc:"ID."`
	Source      string             `json:"source"`
	Part        string             `json:"part"`
	Title       string             `json:"title"`
	Link        string             `json:"link"`
	Metadata    *flow.Object       `json:"metadata"`
	RankWords   int                `json:"rank_words" doc:"Among all passages by words; 0 for none in common."`
	RankMeaning int                `json:"rank_meaning" doc:"Among all passages by meaning; 0 if it is not among the best."`
	Meaning     float64            `json:"meaning" doc:"Similarity, up to 1; 0 without rank_meaning."`
	Before      []KnowledgePassage `json:"before,omitempty"`
	After       []KnowledgePassage `json:"after,omitempty"`
}

// KnowledgeFound is the JSON of the result of a search.
type KnowledgeFound struct {
	Hits     []KnowledgeHit `json:"hits"`
	Searched int            `json:"searched" doc:"How many passages took part."`
}

// documentObject returns the JSON of a document.
func documentObject(d *knowledge.Document) KnowledgeDocument {
	return KnowledgeDocument{
		ID: d.ID, Source: d.Source, Part: d.Part, Title: d.Title, Link: d.Link, Metadata: objectOr(d.Metadata), Format: d.Format, State: d.State, Error: orNull(d.Error), RunID: orNull(d.RunID),
		Passages: d.Passages, Bytes: d.Bytes, CreatedAt: api.Time(d.CreatedAt), ChangedAt: api.Time(d.ChangedAt),
	}
}

// objectOr returns an object that is not nil.
func objectOr(o *flow.Object) *flow.Object {
	if o == nil {
		return &flow.Object{}
	}
	return o
}

// passageObject returns the JSON of a passage.
func passageObject(p *knowledge.Passage) KnowledgePassage {
	o := KnowledgePassage{Text: p.Text, Headings: p.Headings, Page: p.Page, From: p.From, To: p.To, Row: p.Cells}
	if o.Headings == nil {
		o.Headings = []string{}
	}
	return o
}

// passageObjects returns the JSON of passages; nil for none.
func passageObjects(list []knowledge.Passage) (objects []KnowledgePassage) {
	for i := range list {
		objects = append(objects, passageObject(&list[i]))
	}
	return objects
}

// listDocuments is GET knowledge/base/documents.
func (s knowledgeServer) listDocuments(c *api.Call) error {
	b, err := s.findKnowledge(c)
	if err != nil {
		return err
	}
	q, err := c.QueryTexts("state", "part", "source")
	if err != nil {
		return err
	}
	allParts, err := api.QueryBool(c, "all_parts")
	if err != nil {
		return err
	}
	after, limit, err := c.QueryPage(knowledge.PrefixDocument)
	if err != nil {
		return err
	}
	if q["state"] != "" && q["state"] != knowledge.Ready && q["state"] != knowledge.Failed {
		return api.Invalid(flow.Problem{Pointer: "/state", Code: "invalid", Detail: "wanted ready or failed"})
	}
	ctx, o := c.Request().Context(), KnowledgeDocuments{Documents: []KnowledgeDocument{}}
	if q["source"] != "" {
		d, err := s.Store.FindBaseDocument(ctx, b, q["part"], q["source"])
		if err == nil && d != nil {
			o.Documents = append(o.Documents, documentObject(d))
		}
		return writeOr(c, o, err)
	}
	list, err := s.Store.ListBaseDocuments(ctx, b, knowledge.DocumentFilter{Part: q["part"], AllParts: allParts, State: q["state"], After: after, Limit: limit + 1})
	if err != nil {
		return err
	}
	list, o.NextCursor = api.Page(list, limit, func(d *knowledge.Document) string { return d.ID })
	for i := range list {
		o.Documents = append(o.Documents, documentObject(&list[i]))
	}
	return c.WriteJSON(http.StatusOK, o)
}

// writeOr responds with a value, or returns an error.
func writeOr(c *api.Call, v any, err error) error {
	if err != nil {
		return err
	}
	return c.WriteJSON(http.StatusOK, v)
}

// addDocument is POST and PUT knowledge/base/documents.
func (s knowledgeServer) addDocument(c *api.Call) error {
	b, err := s.findKnowledge(c)
	if err != nil {
		return err
	}
	set, err := addDocumentBody.ReadFrom(c)
	if err != nil {
		return err
	}
	var a knowledge.Addition
	set(&a)
	if c.Request().Method == http.MethodPut {
		q, err := c.QueryTexts("source")
		if err != nil {
			return err
		}
		if q["source"] == "" || a.Source != "" && a.Source != q["source"] {
			return api.Invalid(flow.Problem{Pointer: "/source", Code: "required", Detail: "send the source in the URL, and only there"})
		}
		a.Source = q["source"]
	}
	started, err := s.knowledge.Add(c.Request().Context(), c.Actor(), c.Key, c.Key.UserID, b, &a)
	if err != nil {
		return c.LimitRuns(err)
	}
	return writeIndexing(c, b, started)
}

// writeIndexing responds with the run that indexes documents of a base.
func writeIndexing(c *api.Call, b *knowledge.Base, started flow.Started) error {
	o := KnowledgeAdded{RunID: started.Run.ID, FlowID: b.FlowID, URL: api.RunPath(b.FlowID, started.Run.ID)}
	c.Response().Header().Set("Location", o.URL)
	return c.WriteJSON(http.StatusAccepted, o)
}

// removeDocument is DELETE knowledge/base/documents.
func (s knowledgeServer) removeDocument(c *api.Call) error {
	b, err := s.findKnowledge(c)
	if err != nil {
		return err
	}
	q, err := c.QueryTexts("source", "part")
	if err != nil {
		return err
	}
	if q["source"] == "" {
		return api.Invalid(flow.Problem{Pointer: "/source", Code: "required", Detail: "name the document by its source"})
	}
	d, err := s.knowledge.Remove(c.Request().Context(), c.Actor(), b, q["part"], q["source"])
	if err != nil {
		return err
	}
	if d == nil {
		return flow.Errorf(flow.CodeNotFound, "The knowledge base has no document with this source in this part.")
	}
	o := documentObject(d)
	return writeOr(c, &o, s.addQuotes(c, b, &o))
}

// addQuotes adds the runs that found a document.
func (s knowledgeServer) addQuotes(c *api.Call, b *knowledge.Base, o *KnowledgeDocument) error {
	list, total, err := s.Store.ListQuotes(c.Request().Context(), b, o.ID, knowledge.MaxQuotes)
	for _, q := range list {
		o.QuotedBy = append(o.QuotedBy, KnowledgeQuote{RunID: q.RunID, FlowID: q.FlowID, URL: api.RunPath(q.FlowID, q.RunID), CreatedAt: api.Time(q.CreatedAt)})
	}
	o.QuotedByTotal = total
	return err
}

// showDocument is GET knowledge/base/documents/document.
func (s knowledgeServer) showDocument(c *api.Call) error {
	b, err := s.findKnowledge(c)
	if err != nil {
		return err
	}
	_, limit, err := c.QueryPage(knowledge.PrefixDocument)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	d, err := s.Store.FindBaseDocumentByID(ctx, b, c.Param("document_id"))
	if err != nil {
		return err
	}
	list, err := s.Store.ListBasePassages(ctx, d, 0, limit)
	if err != nil {
		return err
	}
	o := documentObject(d)
	o.Texts = passageObjects(list)
	return writeOr(c, &o, s.addQuotes(c, b, &o))
}

// searchKnowledge is POST knowledge/base/search.
func (s knowledgeServer) searchKnowledge(c *api.Call) error {
	b, err := s.findKnowledge(c)
	if err != nil {
		return err
	}
	set, err := searchBody.ReadFrom(c)
	if err != nil {
		return err
	}
	q := knowledge.Query{Mode: knowledge.ModeBoth, Top: 5, PerDoc: 3}
	set(&q)
	found, err := s.knowledge.Search(c.Request().Context(), c.Key, c.Key.UserID, b, &q)
	if err != nil {
		return c.LimitRuns(err)
	}
	o := KnowledgeFound{Hits: []KnowledgeHit{}, Searched: found.Searched}
	for i := range found.Hits {
		h := &found.Hits[i]
		o.Hits = append(o.Hits, KnowledgeHit{
			KnowledgePassage: passageObject(&h.Passage), Document: h.Document.ID, Source: h.Document.Source, Part: h.Document.Part, Title: h.Document.Title, Link: h.Document.Link, Metadata: objectOr(h.Document.Metadata),
			RankWords: h.RankWords, RankMeaning: h.RankMeaning, Meaning: h.Meaning, Before: passageObjects(h.Before), After: passageObjects(h.After),
		})
	}
	return c.WriteJSON(http.StatusOK, o)
}

// exportedPassage is a line of an export.
type exportedPassage struct {
	Source   string       `json:"source"`
	Part     string       `json:"part"`
	Title    string       `json:"title"`
	Link     string       `json:"link"`
	Metadata *flow.Object `json:"metadata"`
	KnowledgePassage
}

// exportPage is how many documents or passages are read at once.
const exportPage = 200

// exportKnowledge is GET knowledge/base/export.
func (s knowledgeServer) exportKnowledge(c *api.Call) error {
	b, err := s.findKnowledge(c)
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Content-Type", "application/jsonl")
	h.Set("Content-Disposition", `attachment; filename="`+b.Slug+`.jsonl"`)
	out, ctx := bufio.NewWriter(c.Response()), c.Request().Context()
	for after := ""; ; {
		list, err := s.Store.ListBaseDocuments(ctx, b, knowledge.DocumentFilter{AllParts: true, After: after, Limit: exportPage})
		if err != nil {
			return err
		}
		for i := range list {
			d := &list[i]
			after = d.ID
			for from := 0; from < int(d.Passages); from += exportPage {
				passages, err := s.Store.ListBasePassages(ctx, d, from, exportPage)
				if err != nil {
					return err
				}
				for j := range passages {
					line := exportedPassage{d.Source, d.Part, d.Title, d.Link, objectOr(d.Metadata), passageObject(&passages[j])}
					if _, err := out.WriteString(strings.TrimSpace(string(flow.EncodeJSON(line))) + "\n"); err != nil {
						return fmt.Errorf("write an export: %w", err)
					}
				}
			}
		}
		if len(list) < exportPage {
			break
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write an export: %w", err)
	}
	return nil
}
