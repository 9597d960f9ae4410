package bases

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/knowledge"
)

// PutBaseDocument stores a document in place of the one with its source and part, in one transaction. It sets the ID, the times and the number of
// the first passage, and returns what was done. Equal content changes nothing.
func (s *Bases) PutBaseDocument(ctx context.Context, p *knowledge.Put) (state string, err error) {
	d := &p.Document
	d.Passages, d.State, d.Error, d.BaseID = int64(len(p.Passages)), knowledge.Ready, "", p.Base.ID
	d.Bytes = sizeOf(p)
	entries, dimensions := entriesOf(p)
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		taken, err := s.lock(tx, p.Base, d.Passages)
		if err != nil {
			return err
		}
		was, err := findDocument(tx, p.Base, d.Part, d.Source)
		if err != nil {
			return err
		}
		if was != nil && was.Hash == d.Hash && was.State == knowledge.Ready {
			*d, state = *was, knowledge.Unchanged
			return nil
		}
		state, d.ID, d.CreatedAt = knowledge.Added, s.DB.IDs().New(knowledge.PrefixDocument), s.DB.Now()
		d.ChangedAt = d.CreatedAt
		change := gen.AddToKnowledgeParams{ID: p.Base.ID, Documents: 1, Passages: d.Passages, Bytes: d.Bytes, ChangedAt: dbconn.Micros(d.ChangedAt)}
		if was != nil {
			d.ID, d.CreatedAt = was.ID, was.CreatedAt
			if was.Passages > 0 {
				state = knowledge.Replaced
			}
			change.Documents, change.Passages, change.Bytes = 0, d.Passages-was.Passages, d.Bytes-was.Bytes
		}
		if err := s.checkRoom(tx, p.Base, taken, &change); err != nil {
			return err
		}
		if err := fixLength(tx, p.Base, taken.Settings, dimensions); err != nil {
			return err
		}
		d.First = taken.NextNumber - d.Passages
		if err := insertPassages(tx, d, p); err != nil {
			return err
		}
		for i := range entries {
			entries[i].Number = d.First + int64(i)
		}
		if was != nil { // after the new ones are there, so that vectors of equal texts stay
			if err := s.dropPassages(tx, was, p.Base.WorkspaceID); err != nil {
				return err
			}
		}
		if err := s.index.add(tx, p.Base.ID, d.Part, taken.NextBlock-blocksFor(d.Passages), entries, dimensions); err != nil {
			return err
		}
		if err := saveDocument(tx, p.Base, d); err != nil {
			return err
		}
		if err := tx.Queries.AddToKnowledge(tx.Ctx, change); err != nil {
			return fmt.Errorf("count a document of %s: %w", p.Base.ID, err)
		}
		return tx.TrackWithinQuota(p.Base.WorkspaceID, flow.Storage{Bytes: change.Bytes})
	})
	return state, err
}

// ErrReindexed is returned for a document that was prepared with settings that have changed since.
var ErrReindexed = &flow.Error{Code: flow.CodeUnavailable, Retryable: true, Message: "The settings of the knowledge base have changed meanwhile. The document is prepared again."}

// lock locks a base and takes numbers for passages and one block.
func (s *Bases) lock(tx *core.Tx, b *knowledge.Base, numbers int64) (*gen.TakeNumbersRow, error) {
	taken, err := tx.Queries.TakeNumbers(tx.Ctx, gen.TakeNumbersParams{ID: b.ID, WorkspaceID: b.WorkspaceID, Numbers: numbers, Blocks: blocksFor(numbers)})
	if dbconn.IsNoRows(err) {
		return nil, flow.Errorf(flow.CodeKnowledgeNotFound, "The knowledge base %s was deleted.", b.Slug)
	}
	if err != nil {
		return nil, fmt.Errorf("lock knowledge base %s: %w", b.ID, err)
	}
	if taken.Generation != b.Generation {
		return nil, ErrReindexed
	}
	return &taken, nil
}

// blocksFor returns how many blocks a number of passages needs.
func blocksFor(passages int64) int64 {
	return (passages + knowledge.BlockPassages - 1) / knowledge.BlockPassages
}

// fixLength makes the first length of vectors that of the base, and returns an error for another.
func fixLength(tx *core.Tx, b *knowledge.Base, settings string, dimensions int) error {
	if dimensions == 0 {
		return nil
	}
	var now knowledge.Settings
	if err := json.Unmarshal([]byte(settings), &now); err != nil {
		return dbconn.Unreadable(err, "knowledge base", b.ID)
	}
	switch now.Length {
	case dimensions:
		return nil
	case 0:
		now.Length = dimensions
		return tx.Queries.SetKnowledgeSettings(tx.Ctx, gen.SetKnowledgeSettingsParams{ID: b.ID, Settings: encodeSettings(&now)})
	}
	return flow.Errorf(flow.CodeEmbeddingChanged, "The model answered with %d numbers; the knowledge base %s has vectors of %d. The model has changed: rebuild the base.", dimensions, b.Slug, now.Length)
}

// checkRoom returns an error if a change exceeds a limit of the base or the workspace.
func (s *Bases) checkRoom(tx *core.Tx, b *knowledge.Base, taken *gen.TakeNumbersRow, change *gen.AddToKnowledgeParams) error {
	if change.Passages > 0 && taken.Passages+change.Passages > knowledge.MaxPassages {
		return flow.Errorf(flow.CodeQuotaExceeded, "The knowledge base %s would have more than %d passages. Remove documents, or make another base.", b.Slug, knowledge.MaxPassages)
	}
	if change.Documents > 0 && taken.Documents+change.Documents > knowledge.MaxDocuments {
		return flow.Errorf(flow.CodeQuotaExceeded, "The knowledge base %s has %d documents, the most that are possible. Remove some, or make another base.", b.Slug, taken.Documents)
	}
	if change.Passages <= 0 {
		return nil
	}
	all, err := tx.Queries.CountKnowledge(tx.Ctx, b.WorkspaceID)
	if err != nil {
		return fmt.Errorf("count passages: %w", err)
	}
	if all.Passages+change.Passages > knowledge.MaxWorkspacePassages {
		return flow.Errorf(flow.CodeQuotaExceeded, "The knowledge bases of the workspace would have more than %d passages. Remove documents.", knowledge.MaxWorkspacePassages)
	}
	return nil
}

// dropPassages deletes the passages of a document and the vectors of their texts, and marks the blocks that have them.
func (s *Bases) dropPassages(tx *core.Tx, d *knowledge.Document, ws flow.WorkspaceID) error {
	if d.Passages == 0 {
		return nil
	}
	end := d.First + d.Passages
	if err := tx.Queries.DropEmbeddingsOf(tx.Ctx, gen.DropEmbeddingsOfParams{WorkspaceID: ws, KnowledgeID: d.BaseID, FirstNumber: d.First, EndNumber: end}); err != nil {
		return fmt.Errorf("delete the vectors of %s: %w", d.ID, err)
	}
	if _, err := tx.Queries.DeletePassages(tx.Ctx, gen.DeletePassagesParams{KnowledgeID: d.BaseID, FirstNumber: d.First, EndNumber: end}); err != nil {
		return fmt.Errorf("delete the passages of %s: %w", d.ID, err)
	}
	return s.index.remove(tx, d.BaseID, d.Part, d.First, end)
}

// FailBaseDocument records why a document could not be read. An earlier version of it stays as it is.
func (s *Bases) FailBaseDocument(ctx context.Context, b *knowledge.Base, d *knowledge.Document) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		taken, err := s.lock(tx, b, 0)
		if err != nil {
			return err
		}
		was, err := findDocument(tx, b, d.Part, d.Source)
		if err != nil {
			return err
		}
		change := gen.AddToKnowledgeParams{ID: b.ID, ChangedAt: s.DB.NowMicros()}
		if was == nil {
			was = &knowledge.Document{
				ID: s.DB.IDs().New(knowledge.PrefixDocument), BaseID: b.ID, Part: d.Part, Source: d.Source, Title: d.Title, Link: d.Link, Metadata: d.Metadata, Bytes: flow.StorageItem,
			}
			change.Documents, change.Bytes = 1, was.Bytes
			if err := s.checkRoom(tx, b, taken, &change); err != nil {
				return err
			}
		}
		was.State, was.Error, was.RunID, was.ChangedAt = knowledge.Failed, d.Error, d.RunID, dbconn.TimeOf(change.ChangedAt)
		if err := saveDocument(tx, b, was); err != nil {
			return err
		}
		if err := tx.Queries.AddToKnowledge(tx.Ctx, change); err != nil {
			return fmt.Errorf("count a document of %s: %w", b.ID, err)
		}
		*d = *was
		return tx.TrackWithinQuota(b.WorkspaceID, flow.Storage{Bytes: change.Bytes})
	})
}

// RemoveBaseDocuments removes documents by part and source, in one transaction, and returns those that existed.
func (s *Bases) RemoveBaseDocuments(ctx context.Context, b *knowledge.Base, part string, sources []string) (removed []knowledge.Document, err error) {
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		removed = nil
		if _, err := tx.Queries.TakeNumbers(tx.Ctx, gen.TakeNumbersParams{ID: b.ID, WorkspaceID: b.WorkspaceID}); err != nil {
			return dbconn.NotFoundErr(err, "knowledge base")
		}
		change := gen.AddToKnowledgeParams{ID: b.ID, ChangedAt: s.DB.NowMicros()}
		for _, source := range sources {
			d, err := findDocument(tx, b, part, source)
			if err != nil {
				return err
			}
			if d == nil {
				continue
			}
			if err := s.dropPassages(tx, d, b.WorkspaceID); err != nil {
				return err
			}
			if _, err := tx.Queries.DeleteKnowledgeDocument(tx.Ctx, gen.DeleteKnowledgeDocumentParams{ID: d.ID, KnowledgeID: b.ID, WorkspaceID: b.WorkspaceID}); err != nil {
				return fmt.Errorf("delete document %s: %w", d.ID, err)
			}
			change.Documents--
			change.Passages -= d.Passages
			change.Bytes -= d.Bytes
			removed = append(removed, *d)
		}
		if len(removed) == 0 {
			return nil
		}
		tx.TrackBytes(b.WorkspaceID, change.Bytes)
		return tx.Queries.AddToKnowledge(tx.Ctx, change)
	})
	return removed, err
}

// ListBaseDocuments returns documents by ID.
func (s *Bases) ListBaseDocuments(ctx context.Context, b *knowledge.Base, f knowledge.DocumentFilter) ([]knowledge.Document, error) {
	rows, err := s.DB.Reads.ListKnowledgeDocuments(ctx, gen.ListKnowledgeDocumentsParams{
		KnowledgeID: b.ID, WorkspaceID: b.WorkspaceID, AfterID: f.After, State: f.State, Part: dbconn.ValidText(f.Part), AnyPart: dbconn.BoolInt(f.AllParts), MaxRows: int32(f.Limit),
	})
	return dbconn.ConvertRows(rows, err, documentOf, "list documents")
}

// likeEscapes escapes what LIKE interprets.
var likeEscapes = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// ListNewestDocuments returns documents by their last change, the newest first.
func (s *Bases) ListNewestDocuments(ctx context.Context, b *knowledge.Base, f knowledge.NewestFilter) ([]knowledge.Document, error) {
	p := gen.ListNewestDocumentsParams{KnowledgeID: b.ID, WorkspaceID: b.WorkspaceID, State: f.State, ChangedBefore: math.MaxInt64, BeforeID: f.Before, MaxRows: int32(f.Limit)}
	if f.Text != "" {
		p.Pattern = "%" + likeEscapes.Replace(strings.ToLower(dbconn.ValidText(f.Text))) + "%"
	}
	if !f.ChangedAt.IsZero() {
		p.ChangedBefore = dbconn.Micros(f.ChangedAt)
	}
	rows, err := s.DB.Reads.ListNewestDocuments(ctx, p)
	return dbconn.ConvertRows(rows, err, documentOf, "list documents")
}

// ListBaseParts returns parts that documents belong to, at most limit; "" stands for documents without one.
func (s *Bases) ListBaseParts(ctx context.Context, b *knowledge.Base, limit int) ([]string, error) {
	parts, err := s.DB.Reads.ListParts(ctx, gen.ListPartsParams{KnowledgeID: b.ID, WorkspaceID: b.WorkspaceID, MaxRows: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list the parts of %s: %w", b.ID, err)
	}
	return parts, nil
}

// CountBaseDocuments returns the number of documents by state.
func (s *Bases) CountBaseDocuments(ctx context.Context, b *knowledge.Base) (map[string]int64, error) {
	rows, err := s.DB.Reads.CountDocumentStates(ctx, gen.CountDocumentStatesParams{KnowledgeID: b.ID, WorkspaceID: b.WorkspaceID})
	counts := map[string]int64{}
	for _, r := range rows {
		counts[r.State] = r.Documents
	}
	return counts, err
}

// FindBaseDocument returns the document of a part with a source, or nil.
func (s *Bases) FindBaseDocument(ctx context.Context, b *knowledge.Base, part, source string) (*knowledge.Document, error) {
	r, err := s.DB.Reads.FindKnowledgeDocument(ctx, gen.FindKnowledgeDocumentParams{KnowledgeID: b.ID, WorkspaceID: b.WorkspaceID, Part: dbconn.ValidText(part), Source: dbconn.ValidText(source)})
	return documentOrNil(r, err)
}

// FindBaseDocumentByID returns a document, or CodeNotFound.
func (s *Bases) FindBaseDocumentByID(ctx context.Context, b *knowledge.Base, id string) (*knowledge.Document, error) {
	r, err := s.DB.Reads.FindKnowledgeDocumentByID(ctx, gen.FindKnowledgeDocumentByIDParams{ID: id, KnowledgeID: b.ID, WorkspaceID: b.WorkspaceID})
	return dbconn.ConvertRow(r, err, "document", documentOf)
}

// ListBaseSources returns the sources of a part that begin with a prefix.
func (s *Bases) ListBaseSources(ctx context.Context, b *knowledge.Base, part, prefix string) ([]string, error) {
	rows, err := s.DB.Reads.ListSources(ctx, gen.ListSourcesParams{KnowledgeID: b.ID, WorkspaceID: b.WorkspaceID, Part: dbconn.ValidText(part)})
	if err != nil {
		return nil, fmt.Errorf("list the sources of %s: %w", b.ID, err)
	}
	return slices.DeleteFunc(rows, func(source string) bool { return !strings.HasPrefix(source, prefix) }), nil
}

// ListBasePassages returns passages of a document from the one with index from on.
func (s *Bases) ListBasePassages(ctx context.Context, d *knowledge.Document, from, limit int) ([]knowledge.Passage, error) {
	rows, err := s.DB.Reads.ListPassages(ctx, gen.ListPassagesParams{KnowledgeID: d.BaseID, FirstNumber: d.First + int64(from), EndNumber: d.First + d.Passages, MaxRows: int32(limit)})
	return dbconn.ConvertRows(rows, err, passageOf, "list passages")
}

// findDocument finds a document in a transaction; nil if it does not exist.
func findDocument(tx *core.Tx, b *knowledge.Base, part, source string) (*knowledge.Document, error) {
	r, err := tx.Queries.FindKnowledgeDocument(tx.Ctx, gen.FindKnowledgeDocumentParams{KnowledgeID: b.ID, WorkspaceID: b.WorkspaceID, Part: dbconn.ValidText(part), Source: dbconn.ValidText(source)})
	return documentOrNil(r, err)
}

func documentOrNil(r gen.KnowledgeDocument, err error) (*knowledge.Document, error) {
	if dbconn.IsNoRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find a document: %w", err)
	}
	d := documentOf(r)
	return &d, nil
}

func saveDocument(tx *core.Tx, b *knowledge.Base, d *knowledge.Document) error {
	err := tx.Queries.SaveDocument(tx.Ctx, gen.SaveDocumentParams{
		ID: d.ID, KnowledgeID: b.ID, WorkspaceID: b.WorkspaceID, Part: dbconn.ValidText(d.Part), Source: dbconn.ValidText(d.Source), Hash: d.Hash, Title: dbconn.ValidText(d.Title), Link: dbconn.ValidText(d.Link),
		Metadata: dbconn.EncodeObject(d.Metadata), Format: d.Format, State: d.State, Error: dbconn.ValidText(d.Error), RunID: d.RunID, FirstNumber: d.First, Passages: d.Passages, Bytes: d.Bytes, ChangedAt: dbconn.Micros(d.ChangedAt),
	})
	if err != nil {
		return fmt.Errorf("save document %s: %w", d.ID, err)
	}
	return nil
}

// passageColumns is the number of columns of a passage, and passagesAtOnce how many are inserted with one statement.
const passageColumns, passagesAtOnce = 10, 100

// insertPassages stores the passages of a document.
func insertPassages(tx *core.Tx, d *knowledge.Document, put *knowledge.Put) error {
	list := put.Passages
	var rows []any
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		query := "INSERT INTO knowledge_passages (knowledge_id, number, document_id, body, headings, page, start_at, end_at, cells, hash) VALUES " + dbconn.Placeholders(len(rows)/passageColumns, passageColumns)
		_, err := tx.DBTX.ExecContext(tx.Ctx, query, rows...)
		rows = rows[:0]
		return err
	}
	for i := range list {
		p := &list[i]
		hash := ""
		if i < len(put.Hashes) {
			hash = put.Hashes[i]
		}
		rows = append(rows, d.BaseID, d.First+int64(i), d.ID, dbconn.ValidText(p.Text), dbconn.EncodeList(p.Headings), int64(p.Page), int64(p.From), int64(p.To), dbconn.EncodeObject(p.Cells), hash)
		if len(rows) == passageColumns*passagesAtOnce {
			if err := flush(); err != nil {
				return fmt.Errorf("store passages of %s: %w", d.ID, err)
			}
		}
	}
	if err := flush(); err != nil {
		return fmt.Errorf("store passages of %s: %w", d.ID, err)
	}
	return nil
}

// sizeOf returns the bytes that a document counts in the storage of its workspace: its texts, and half as much for the words of the index, and vectors.
func sizeOf(p *knowledge.Put) int64 {
	n := int64(flow.StorageItem)
	for i := range p.Passages {
		n += int64(len(p.Passages[i].Text)) * 3 / 2
		if i < len(p.Vectors) {
			n += int64(len(p.Vectors[i]))
		}
	}
	return n
}

// entriesOf returns the passages as the index has them, without their numbers, and the dimensions of the vectors.
func entriesOf(p *knowledge.Put) (entries []knowledge.Entry, dimensions int) {
	entries = make([]knowledge.Entry, len(p.Passages))
	for i := range p.Passages {
		heading := strings.Join(append([]string{p.Document.Title}, p.Passages[i].Headings...), "\n")
		entries[i] = knowledge.NewEntry(int64(i), heading, p.Passages[i].Text)
		if i < len(p.Vectors) && p.Vectors[i] != nil {
			entries[i].Vector, dimensions = p.Vectors[i], len(p.Vectors[i])
		}
	}
	return entries, dimensions
}

func documentOf(r gen.KnowledgeDocument) knowledge.Document {
	return knowledge.Document{
		ID: r.ID, BaseID: r.KnowledgeID, Part: r.Part, Source: r.Source, Hash: r.Hash, Title: r.Title, Link: r.Link, Metadata: objectOf(r.Metadata), Format: r.Format, State: r.State, Error: r.Error,
		RunID: r.RunID, First: r.FirstNumber, Passages: r.Passages, Bytes: r.Bytes, CreatedAt: dbconn.TimeOf(r.CreatedAt), ChangedAt: dbconn.TimeOf(r.ChangedAt),
	}
}

func passageOf(r gen.KnowledgePassage) knowledge.Passage {
	return knowledge.Passage{Number: r.Number, Text: r.Body, Headings: dbconn.DecodeList[string](r.Headings), Page: int(r.Page), From: int(r.StartAt), To: int(r.EndAt), Cells: objectOf(r.Cells)}
}
