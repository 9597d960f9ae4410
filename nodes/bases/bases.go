// Package bases does the work of the kinds of knowledge bases: it reads, cuts, embeds and stores documents, and searches for
// passages. It knows nothing about the stores and models behind its dependencies.
package bases

import (
	"context"
	"io"
	"strings"

	"sluice/documents"
	"sluice/flow"
	"sluice/flow/knowledge"
	"sluice/providers/builtin"
)

// Store stores knowledge bases; *bases.Bases of package db implements it. Errors that users can fix are *flow.Error.
type Store interface {
	FindBase(ctx context.Context, ws flow.WorkspaceID, ref string) (*knowledge.Base, error)
	SearchBase(ctx context.Context, b *knowledge.Base, q *knowledge.Query) (*knowledge.Found, error)
	NoteQuotes(ctx context.Context, run flow.RunID, documents []string) error
	FindBaseDocument(ctx context.Context, b *knowledge.Base, part, source string) (*knowledge.Document, error)
	PutBaseDocument(ctx context.Context, p *knowledge.Put) (state string, err error)
	FailBaseDocument(ctx context.Context, b *knowledge.Base, d *knowledge.Document) error
	RemoveBaseDocuments(ctx context.Context, b *knowledge.Base, part string, sources []string) ([]knowledge.Document, error)
	ListBaseSources(ctx context.Context, b *knowledge.Base, part, prefix string) ([]string, error)
	BlocksToPrepare(ctx context.Context, b *knowledge.Base, run flow.RunID) ([]int64, error)
	BlockTexts(ctx context.Context, b *knowledge.Base, block int64) ([]knowledge.BlockText, error)
	PrepareVectors(ctx context.Context, b *knowledge.Base, run flow.RunID, block int64, texts []knowledge.BlockText, vectors [][]float32, hashes []string) error
	SwitchBase(ctx context.Context, b *knowledge.Base, run flow.RunID, to *knowledge.Settings) (done bool, err error)
	DropPrepared(ctx context.Context, b *knowledge.Base, run flow.RunID) error
	FindEmbeddings(ctx context.Context, m knowledge.EmbeddingModel, hashes []string) (map[string][]float32, error)
	SaveEmbeddings(ctx context.Context, m knowledge.EmbeddingModel, vectors map[string][]float32) error
}

// Reader reads documents. Errors that users can fix are *documents.Error.
type Reader interface {
	Read(ctx context.Context, group string, r documents.Request, content io.Reader, keep func(documents.Image) error) (*documents.Document, error)
}

// Deps are what the work needs.
type Deps struct {
	Store     Store
	Documents Reader
	// Embed embeds texts with the model of a base, and adds what that costs to the result of the step. Vectors have length 1.
	Embed func(ctx context.Context, in *flow.In, b *knowledge.Base, texts []string, out *flow.Out) ([][]float32, error)
	// Languages detects the language of a text, the most likely first.
	Languages func(ctx context.Context, text string) ([]builtin.Language, error)
	// Charge is that of texts that are embedded; see flow.Kind.
	Charge func(config map[string]any) (flow.Charge, bool)
	// Await reports whether the child runs of a step have ended, or an error after its time limit. Until then the step returns Suspension.
	Await      func(ctx context.Context, in *flow.In, children *flow.Children) (done bool, err error)
	Suspension func(in *flow.In) *flow.Suspension
	// ChildError returns the error of a step for a child run that failed.
	ChildError func(what string, r *flow.ChildResult) error
}

// Find returns the base that a reference names.
func (d Deps) Find(ctx context.Context, in *flow.In, ref string) (*knowledge.Base, error) {
	ref = strings.TrimSpace(ref)
	b, err := d.Store.FindBase(ctx, in.WorkspaceID, ref)
	if err != nil && flow.AsError(err).Code == flow.CodeKnowledgeNotFound {
		return nil, flow.Errorf(flow.CodeKnowledgeNotFound, "There is no knowledge base %q. Create it, or choose another in the node.", ref)
	}
	return b, err
}

// embedAtOnce is how many texts one request embeds.
const embedAtOnce = 64

// isEnglish reports whether the built-in model understands a text.
func (d Deps) isEnglish(ctx context.Context, text string) bool {
	languages, err := d.Languages(ctx, text)
	return err == nil && len(languages) > 0 && languages[0].Code == "en"
}

// Absent replaces a Store: there are no bases.
type Absent struct {
	Store
	Err error
}

// FindBase returns the error.
func (a Absent) FindBase(context.Context, flow.WorkspaceID, string) (*knowledge.Base, error) {
	return nil, a.Err
}

// Embedder is the built-in model.
type Embedder interface {
	Embed(ctx context.Context, group string, texts []string) ([][]float32, error)
}

// EmbedQuery embeds a query with the built-in model.
func EmbedQuery(ctx context.Context, model Embedder, ws flow.WorkspaceID, text string) ([]float32, error) {
	vectors, err := model.Embed(ctx, string(ws), []string{text})
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}
