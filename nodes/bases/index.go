package bases

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"sluice/documents"
	"sluice/flow"
	"sluice/flow/knowledge"
	"sluice/flow/value"
	"sluice/nodes/passages"
)

// indexCPU is how many seconds of CPU time reading a document may take.
const indexCPU = 300

// indexing is a document that is being indexed.
type indexing struct {
	Deps
	in       *flow.In
	base     *knowledge.Base
	spec     knowledge.Spec
	put      knowledge.Put
	texts    []string // of the passages, as they are embedded
	out      flow.Out
	warnings []any
}

// Index indexes a document. Equal content changes nothing.
func (d Deps) Index(ctx context.Context, in *flow.In) (flow.Out, error) {
	x := &indexing{Deps: d, in: in, warnings: []any{}}
	var err error
	if x.base, err = d.Find(ctx, in, in.Text("knowledge")); err != nil {
		return flow.Out{}, err
	}
	if err := json.Unmarshal(flow.EncodeJSON(in.Config["spec"]), &x.spec); err != nil {
		return flow.Out{}, flow.Errorf(flow.CodeInputInvalid, "The description of the document is invalid.")
	}
	state, err := x.run(ctx)
	if err != nil {
		return x.out, x.fail(ctx, err)
	}
	doc := &x.put.Document
	x.out.Outputs = map[string]any{
		"document": value.NewObject(value.Member{Name: "id", Value: doc.ID}, value.Member{Name: "source", Value: doc.Source}, value.Member{Name: "state", Value: state},
			value.Member{Name: "title", Value: doc.Title}, value.Member{Name: "warnings", Value: x.warnings}),
		"passages": flow.Number(doc.Passages),
	}
	return x.out, nil
}

// fail records a failure with the document, whose earlier version stays. If the step is tried again and succeeds, that replaces it.
func (x *indexing) fail(ctx context.Context, err error) error {
	e, known := errors.AsType[*flow.Error](err)
	if ctx.Err() != nil || !known || e.Code == flow.CodeUnavailable || x.put.Document.Source == "" || e.Code == flow.CodeKnowledgeNotFound {
		return err
	}
	x.put.Document.Error, x.put.Document.RunID = e.Message, x.in.RunID
	if failed := x.Store.FailBaseDocument(ctx, x.base, &x.put.Document); failed != nil {
		return fmt.Errorf("record that a document failed: %w", failed)
	}
	return err
}

// run reads, cuts, embeds and stores the document.
func (x *indexing) run(ctx context.Context) (state string, err error) {
	doc := &x.put.Document
	*doc = knowledge.Document{Part: x.spec.Part, Source: x.spec.Source, Title: x.spec.Title, Link: x.spec.Link, Metadata: x.spec.Metadata, RunID: x.in.RunID}
	f, content, err := x.in.OpenFile(ctx, x.in.Config["file"])
	if err != nil {
		if checkDocumentFacts(x.base, doc) != nil {
			doc.Source = ""
		}
		return "", err
	}
	defer content.Close() //nolint:errcheck // it was only read
	if doc.Source == "" {
		doc.Source = f.Name
	}
	if err := checkDocumentFacts(x.base, doc); err != nil {
		doc.Source = "" // nothing to record it with
		return "", err
	}
	if f.Size > documents.MaxSize {
		return "", flow.Errorf(flow.CodeInputInvalid, "The document has %d MiB; the limit is %d MiB. Split it.", f.Size>>20, documents.MaxSize>>20)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, content); err != nil {
		return "", fmt.Errorf("hash a document: %w", err)
	}
	doc.Hash = x.hash(hex.EncodeToString(sum.Sum(nil)))
	was, err := x.Store.FindBaseDocument(ctx, x.base, doc.Part, doc.Source)
	if err != nil {
		return "", err
	}
	if was != nil && was.Hash == doc.Hash && was.State == knowledge.Ready {
		*doc = *was
		return knowledge.Unchanged, nil
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("read a document again: %w", err)
	}
	if err := x.cut(ctx, f, content); err != nil {
		return "", err
	}
	if err := x.embed(ctx); err != nil {
		return "", err
	}
	x.put.Base = x.base
	return x.Store.PutBaseDocument(ctx, &x.put)
}

// indexVersion counts the changes of how documents are read and cut, so that adding a document again after an upgrade is not taken for
// the same. Vectors of passages that stay the same are not computed again.
const indexVersion = 2

// hash returns the hash of everything that decides how a document is found.
func (x *indexing) hash(content string) string {
	s := &x.base.Settings
	return flow.Hash(flow.EncodeJSON([]any{content, x.spec.Title, x.spec.Link, x.spec.Metadata, s.Model, s.Dimensions, s.Size, s.Repeated(), x.base.Generation, indexVersion}))
}

// checkDocumentFacts checks what identifies and describes a document.
func checkDocumentFacts(b *knowledge.Base, d *knowledge.Document) error {
	if err := b.CheckPart(d.Part); err != nil {
		return err
	}
	for name, text := range map[string]string{"source": d.Source, "title": d.Title, "link": d.Link} {
		if len(text) > knowledge.MaxSource {
			return flow.Errorf(flow.CodeInputInvalid, "The %s of the document has %d bytes; the limit is %d.", name, len(text), knowledge.MaxSource)
		}
	}
	return knowledge.CheckMetadata(d.Metadata)
}

// pictureOnly matches what the reader writes for a page without text.
var pictureOnly = regexp.MustCompile(`\[Page (\d+) has no text, only a picture\.\]`)

// cut reads the document and cuts its text.
func (x *indexing) cut(ctx context.Context, f *flow.File, content io.Reader) error {
	read, err := x.Documents.Read(ctx, string(x.in.WorkspaceID), documents.Request{Name: f.Name, MIME: f.MIME, CPU: indexCPU}, content, func(documents.Image) error { return nil })
	if err != nil {
		if refused, ok := errors.AsType[*documents.Error](err); ok {
			return flow.Errorf(flow.CodeDocumentUnreadable, "%s", refused.Message)
		}
		return err
	}
	if read.Truncated && !x.spec.AllowTruncated {
		return flow.Errorf(flow.CodeDocumentUnreadable, "Only a part of the document can be read: it is too long, or damaged. Split it, or allow truncated documents.")
	}
	doc := &x.put.Document
	doc.Format = read.Format
	if doc.Title == "" {
		doc.Title = titleOf(read, doc.Source)
	}
	for _, page := range pictureOnly.FindAllStringSubmatch(read.Text, -1) {
		x.warnings = append(x.warnings, "Page "+page[1]+" has no text, only a picture.")
	}
	for _, w := range read.Warnings {
		x.warnings = append(x.warnings, w)
	}
	rules := passages.Rules{Size: x.base.Settings.Size, Overlap: x.base.Settings.Repeated(), Plain: read.Format == "text" || read.Format == "pdf"}
	var list []passages.Passage
	if len(read.Tables) > 0 {
		list = passages.Rows(tablesOf(read.Tables), rules)
	} else {
		list = passages.Cut(read.Text, read.PageStarts, rules)
	}
	for i := range list {
		p := &list[i]
		if text := strings.TrimSpace(pictureOnly.ReplaceAllString(p.Text, "")); text != "" {
			passage := knowledge.Passage{Text: text, Headings: p.Headings, Page: p.Page, From: p.From, To: p.To}
			if p.Row != nil {
				passage.Cells = value.NewObject()
				for _, cell := range p.Row {
					passage.Cells.Set(cell[0], cell[1])
				}
			}
			x.put.Passages = append(x.put.Passages, passage)
			x.texts = append(x.texts, strings.Join(append(append([]string{doc.Title}, p.Headings...), text), "\n"))
		}
	}
	if len(x.put.Passages) == 0 {
		return flow.Errorf(flow.CodeDocumentUnreadable, "The document has no text that could be searched.")
	}
	if len(x.put.Passages) > knowledge.MaxPassages {
		return flow.Errorf(flow.CodeQuotaExceeded, "The document has %d passages; a knowledge base has at most %d. Split it, or make passages longer.", len(x.put.Passages), knowledge.MaxPassages)
	}
	return nil
}

// tablesOf converts tables for package passages.
func tablesOf(list []documents.Table) (tables []passages.Table) {
	for i := range list {
		tables = append(tables, passages.Table{Name: list[i].Name, Columns: list[i].Columns, Rows: list[i].Rows})
	}
	return tables
}

// titleOf returns the title of a document: the one in its metadata, its first heading, or its name.
func titleOf(read *documents.Document, source string) string {
	if title := strings.TrimSpace(read.Title); title != "" && len(title) <= knowledge.MaxSource {
		return title
	}
	if read.Format == "markdown" || read.Format == "html" {
		for line := range strings.Lines(read.Text) {
			if title, is := strings.CutPrefix(strings.TrimSpace(line), "# "); is && len(title) <= knowledge.MaxSource {
				return title
			}
		}
	}
	return source
}

// embed finds or makes the vectors of the passages. Those that were made are kept after each request, so that a crash repeats one at most.
func (x *indexing) embed(ctx context.Context) error {
	x.put.Vectors, x.put.Hashes = make([][]float32, len(x.texts)), make([]string, len(x.texts))
	model := knowledge.EmbeddingModel{WorkspaceID: x.in.WorkspaceID, Model: x.base.Settings.Model, Dimensions: x.base.Settings.Dimensions}
	for from := 0; from < len(x.texts); from += embedAtOnce {
		end := min(from+embedAtOnce, len(x.texts))
		var hashes []string
		for i := from; i < end; i++ {
			if model.Model != "" || x.isEnglish(ctx, x.put.Passages[i].Text) {
				x.put.Hashes[i] = flow.Hash([]byte(x.texts[i]))
				hashes = append(hashes, x.put.Hashes[i])
			}
		}
		known, err := x.Store.FindEmbeddings(ctx, model, hashes)
		if err != nil {
			return err
		}
		var texts, missing []string
		for i := from; i < end; i++ {
			if hash := x.put.Hashes[i]; hash != "" && known[hash] == nil {
				texts, missing = append(texts, x.texts[i]), append(missing, hash)
				known[hash] = []float32{} // the same text again in this page needs no second vector
			}
		}
		if len(texts) > 0 {
			vectors, err := x.Embed(ctx, x.in, x.base, texts, &x.out)
			if err != nil {
				return err
			}
			fresh := map[string][]float32{}
			for i, hash := range missing {
				known[hash], fresh[hash] = vectors[i], vectors[i]
			}
			if err := x.Store.SaveEmbeddings(ctx, model, fresh); err != nil {
				return err
			}
		}
		for i := from; i < end; i++ {
			if hash := x.put.Hashes[i]; hash != "" {
				x.put.Vectors[i] = known[hash]
			}
		}
	}
	return nil
}
