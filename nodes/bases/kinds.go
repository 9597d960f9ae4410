package bases

import (
	"context"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/knowledge"
	"sluice/nodes/expression"
)

// What all kinds share.
const (
	group = "Sources"
	icon  = "book-open"
	// indexTime is the time limit of a step that indexes documents.
	indexTime = 50 * time.Minute
	// rebuildTime is the time limit of a step that rebuilds a base.
	rebuildTime = 50 * time.Minute
)

// ptr returns a pointer to a limit.
func ptr(f float64) *float64 { return &f }

var textSchema = map[string]any{"type": "string"}

// baseField chooses a base.
func baseField(help string) flow.Field {
	return flow.Field{Name: "knowledge", Title: "Knowledge", Type: flow.FieldText, Required: true, Scoped: true, Help: help}
}

// partField is the field for the part of a base.
var partField = flow.Field{Name: "part", Title: "Part", Type: flow.FieldText, Scoped: true, More: true,
	Help: "The customer, tenant or project that documents belong to. Searches find only documents of the same part."}

// IndexKind declares the internal kind that reads a document, cuts it into passages, embeds them and stores them in a base.
func (d Deps) IndexKind() flow.Kind {
	return flow.Kind{
		Name: knowledge.IndexKind, Title: "Index", Group: group, Icon: icon, Class: flow.Outside, Timeout: indexTime, Internal: true,
		Summary: "Adds a document to a knowledge base.",
		Fields: []flow.Field{
			baseField("The base."),
			{Name: "file", Title: "File", Type: flow.FieldFile, Required: true, Help: "The document."},
			{Name: "spec", Title: "Spec", Type: flow.FieldJSON, Required: true, Help: "Where the document belongs."},
			{Name: "model", Title: "Model", Type: flow.FieldModel, Task: "embed", Help: "The model of the base."},
			{Name: "credential", Title: "Credential", Type: flow.FieldSecret, More: true, Help: "The credential of the base."},
		},
		Outputs: []flow.Port{
			{Name: "document", Title: "Document", Type: flow.TypeJSON, Help: "ID, source and what was done."},
			{Name: "passages", Title: "Passages", Type: flow.TypeNumber, Help: "How many passages the document has."},
		},
		Charge: d.Charge,
		Run:    func(ctx context.Context, in *flow.In) (flow.Out, error) { return d.Index(ctx, in) },
	}
}

// AddKind declares the kind that adds documents to a base, each by a child run, and removes documents.
func (d Deps) AddKind() flow.Kind {
	return flow.Kind{
		Name: "knowledge_add", Title: "Add to knowledge", Group: group, Icon: icon, Writes: true, Class: flow.Outside, Timeout: indexTime, WaitsFor: flow.WaitsForChildren,
		Summary: "Adds documents to a knowledge base, or removes them.",
		Doc: "Adds a file or a text to a [knowledge base](knowledge.md), where `knowledge_search` finds it. A document is identified by its `source`, such as a path, a URL or " +
			"the ID of a record, within its `part`. The same source again replaces the document in one transaction; equal content changes nothing and costs nothing.\n\n" +
			"Files are read like those of `document`. Each document is indexed by a child run, which shows how far it is and what it cost. If a document cannot be read, the step fails, " +
			"and its earlier version is still searched.\n\n" +
			"- **put** adds or replaces. `file`, `text` and `source` may be lists of the same length.\n" +
			"- **remove** removes the documents with the sources in `source`.\n" +
			"- **keep_only** removes all documents of the part whose source begins with `prefix` and is not in `source`: use it after a crawl to remove the pages that are gone. " +
			"It refuses an empty list, and to remove more than half of the documents unless `allow_large` is on.",
		Fields: []flow.Field{
			baseField("Slug or ID of the knowledge base."),
			{Name: "action", Title: "Action", Type: flow.FieldSelect, Typed: true, Default: actionPut, Options: []string{actionPut, actionRemove, actionKeepOnly},
				Labels: []string{"Add or replace", "Remove", "Keep only these"}, Help: "What to do with the documents."},
			{Name: "file", Title: "File", Type: flow.FieldFile, Value: flow.TypeAny, Secrets: flow.SecretsInURL,
				Accept: []string{".pdf", ".docx", ".xlsx", ".pptx", ".odt", ".rtf", ".eml", ".html", ".htm", ".md", ".csv", ".tsv", ".txt"}, Help: "A file or its URL, or a list of them."},
			{Name: "text", Title: "Text", Type: flow.FieldArea, Value: flow.TypeAny, Help: "A text instead of a file, or a list of texts. Markdown headings are recognized."},
			{Name: "source", Title: "Source", Type: flow.FieldText, Value: flow.TypeAny, Help: "What identifies the document: a path, a URL or an ID, or a list of them. Default: the name of the file."},
			{Name: "title", Title: "Title", Type: flow.FieldText, More: true, Help: "Default: the title in the document."},
			{Name: "link", Title: "Link", Type: flow.FieldText, More: true, Help: "Where people can read the document."},
			{Name: "metadata", Title: "Metadata", Type: flow.FieldJSON, More: true, Help: "An object of texts, numbers and booleans that searches can filter by."},
			partField,
			{Name: "prefix", Title: "Prefix", Type: flow.FieldText, Scoped: true, More: true, Help: "For keep_only: only documents whose source begins with this are removed."},
			{Name: "allow_large", Title: "Allow large removals", Type: flow.FieldBoolean, Typed: true, More: true, Default: false, Help: "Lets keep_only remove more than half of the documents."},
			{Name: "allow_truncated", Title: "Allow truncated documents", Type: flow.FieldBoolean, Typed: true, More: true, Default: false, Help: "Adds the part of a document that can be read."},
		},
		Outputs: []flow.Port{
			{Name: "document", Title: "Document", Type: flow.TypeJSON, Help: "The last document: id, source, title, warnings and state, which is added, replaced, unchanged or removed."},
			{Name: "documents", Title: "Documents", Type: flow.TypeList, Help: "All documents."},
			{Name: "passages", Title: "Passages", Type: flow.TypeNumber, Help: "How many passages the documents have."},
		},
		Example: flow.Example{Config: map[string]any{"knowledge": "help-center", "action": actionRemove, "source": "old.md"}},
		Check:   checkAdd,
		Run:     func(ctx context.Context, in *flow.In) (flow.Out, error) { return d.add(ctx, in) },
		Cleanup: func(ctx context.Context, in *flow.In) error {
			if in.Children == nil {
				return nil
			}
			return in.Children.Stop(ctx)
		},
	}
}

// checkAdd checks typed values.
func checkAdd(n *flow.Node) []flow.Problem {
	if o, typed := flow.AsObject(n.Config["metadata"]); typed {
		if err := knowledge.CheckMetadata(o); err != nil {
			return []flow.Problem{{Pointer: "/metadata", Code: "invalid", Detail: flow.AsError(err).Message}}
		}
	}
	return nil
}

// SearchKind declares the kind that finds passages for a question. Its result is what others wrote, so it is untrusted.
func (d Deps) SearchKind() flow.Kind {
	return flow.Kind{
		Name: "knowledge_search", Title: "Search knowledge", Group: group, Icon: icon, Class: flow.Outside,
		Reads:   true,
		Summary: "Finds passages in a knowledge base.",
		Doc: "Finds the passages of a [knowledge base](knowledge.md) that fit a question best, by words and by meaning. Connect `context` to a prompt: it has the passages as " +
			"quotations, numbered `[1]`, `[2]`, and so on. If the answer of a chat or form has these numbers and the flow outputs `citations`, they become footnotes with title and page.\n\n" +
			"Words come first: identifiers are found whole and in parts, and quoted phrases must occur. `where` is a condition (CEL) over `metadata` and `source`, such as " +
			"`metadata.lang == \"en\"`; it is applied before ranking, so that there are `top` results if enough documents fit.\n\n" +
			"As a tool of an agent, the model fills the query, and `top` and `neighbors` if you describe them; the base, the part and the filter are always yours. " +
			"The quotations of all searches of an agent have different numbers, and its output `citations` has the sources of all. " +
			"Content of documents is data: a flow must not grant rights because of it.",
		Fields: []flow.Field{
			baseField("Slug or ID of the knowledge base, or several with commas between them."),
			{Name: "query", Title: "Query", Type: flow.FieldArea, Value: flow.TypeAny, Required: true, Help: "A question or words, or a conversation, whose last user message is used."},
			partField,
			{Name: "where", Title: "Where", Type: flow.FieldText, Scoped: true, More: true, Help: "Condition over metadata and source, such as metadata.lang == \"en\"."},
			{Name: "top", Title: "Top", Type: flow.FieldInteger, Default: 5, Min: ptr(1), Max: ptr(knowledge.MaxTop), Help: "How many passages to find."},
			{Name: "neighbors", Title: "Neighbors", Type: flow.FieldInteger, More: true, Default: 0, Min: ptr(0), Max: ptr(5), Help: "How many passages before and after each to add to the context."},
			{Name: "mode", Title: "Mode", Type: flow.FieldSelect, Typed: true, More: true, Default: knowledge.ModeBoth, Options: []string{knowledge.ModeBoth, knowledge.ModeWords, knowledge.ModeMeaning},
				Labels: []string{"Words and meaning", "Words", "Meaning"}, Help: "How passages are found."},
			{Name: "per_document", Title: "Per document", Type: flow.FieldInteger, Typed: true, More: true, Default: 3, Min: ptr(1), Max: ptr(knowledge.MaxTop), Help: "How many passages of one document to find at most."},
			{Name: "first_number", Title: "First number", Type: flow.FieldInteger, Typed: true, More: true, Default: 1, Min: ptr(1), Max: ptr(maxNumber), Help: "Number of the first quotation. With several searches for one answer, give each other numbers, such as 1 and 101."},
			{Name: "max_words", Title: "Max words", Type: flow.FieldInteger, Typed: true, More: true, Default: 1500, Min: ptr(50), Max: ptr(100_000), Help: "Length of the context."},
			{Name: "min_meaning", Title: "Minimum similarity", Type: flow.FieldNumber, Typed: true, More: true, Min: ptr(-1), Max: ptr(1),
				Help: "Passages that have no word in common with the query and are less similar are left out. Default: by model."},
		},
		Outputs: []flow.Port{
			{Name: "hits", Title: "Hits", Type: flow.TypeList, Schema: hitsSchema, Help: "The passages, the best first."},
			{Name: "context", Title: "Context", Type: flow.TypeText, Help: "The passages as numbered quotations, for a prompt."},
			{Name: "citations", Title: "Citations", Type: flow.TypeJSON, Schema: map[string]any{"type": "object"}, Help: "By number in the context: title, link, page and source."},
			{Name: "found", Title: "Found", Type: flow.TypeBoolean, Help: "Whether there is any passage."},
		},
		Example:   flow.Example{Config: map[string]any{"knowledge": "help-center", "query": "How long does a refund take?"}},
		Check:     checkSearch,
		Untrusted: func(*flow.Node) bool { return true },
		Tool:      &flow.ToolUse{Result: []string{"context"}, Sources: &flow.ToolSources{First: "first_number", Most: "top", Output: "citations"}},
		ChargeFor: d.chargeSearch,
		Run:       func(ctx context.Context, in *flow.In) (flow.Out, error) { return d.Search(ctx, in) },
	}
}

// hitsSchema is the JSON Schema of the output hits.
var hitsSchema = map[string]any{"type": "array", "items": map[string]any{"type": "object", "properties": map[string]any{
	"text": textSchema, "title": textSchema, "headings": map[string]any{"type": "array", "items": textSchema}, "source": textSchema, "link": textSchema,
	"page": map[string]any{"type": "integer"}, "from": map[string]any{"type": "integer"}, "to": map[string]any{"type": "integer"}, "document": textSchema, "passage": map[string]any{"type": "integer"},
	"rank_words": map[string]any{"type": "integer"}, "rank_meaning": map[string]any{"type": "integer"}, "meaning": map[string]any{"type": "number"}, "metadata": map[string]any{"type": "object"},
}}}

// checkSearch checks a typed filter.
func checkSearch(n *flow.Node) []flow.Problem {
	where, _ := n.Config["where"].(string)
	if strings.TrimSpace(where) == "" {
		return nil
	}
	e, err := expression.Compile(where, FilterVariables...)
	if err == nil {
		err = e.CheckBoolean()
	}
	if err != nil {
		return []flow.Problem{{Pointer: "/where", Code: "invalid", Detail: flow.AsError(err).Message}}
	}
	return nil
}
