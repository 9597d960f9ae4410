-- name: InsertKnowledge :exec
INSERT INTO knowledge (id, workspace_id, flow_id, slug, name, settings, generation, next_number, next_block, changes, documents, passages, bytes,
    source, made_by, created_at, changed_at)
VALUES (@id, @workspace_id, @flow_id, @slug, @name, @settings, 1, 1, 1, 0, 0, 0, 0, @source, @made_by, @created_at, @created_at);

-- name: HideFlow :exec
UPDATE flows SET archived_at = @archived_at, knowledge_id = @knowledge_id WHERE id = @id AND workspace_id = @workspace_id;

-- name: FindKnowledge :one
SELECT * FROM knowledge WHERE id = @id AND workspace_id = @workspace_id;

-- name: FindKnowledgeBySlug :one
SELECT * FROM knowledge WHERE slug = @slug AND workspace_id = @workspace_id;

-- name: ListKnowledge :many
SELECT * FROM knowledge WHERE workspace_id = @workspace_id ORDER BY slug;

-- name: CountKnowledge :one
SELECT CAST(count(*) AS BIGINT) AS bases, CAST(COALESCE(SUM(passages), 0) AS BIGINT) AS passages FROM knowledge WHERE workspace_id = @workspace_id;

-- name: UpdateKnowledge :execrows
UPDATE knowledge SET name = @name, settings = @settings, source = @source, changed_at = @changed_at
WHERE id = @id AND workspace_id = @workspace_id AND generation = @generation;

-- The characters of all passages.
-- name: CountKnowledgeText :one
SELECT CAST(COALESCE(SUM(length(body)), 0) AS BIGINT) FROM knowledge_passages WHERE knowledge_id = @knowledge_id;

-- name: DeleteKnowledge :execrows
DELETE FROM knowledge WHERE id = @id AND workspace_id = @workspace_id;

-- Locks a base and takes numbers of passages and blocks; both may be 0.
-- name: TakeNumbers :one
UPDATE knowledge SET next_number = next_number + @numbers, next_block = next_block + @blocks, changes = changes + 1
WHERE id = @id AND workspace_id = @workspace_id
RETURNING next_number, next_block, generation, passages, documents, settings;

-- name: AddToKnowledge :exec
UPDATE knowledge SET documents = documents + @documents, passages = passages + @passages, bytes = bytes + @bytes, changed_at = @changed_at WHERE id = @id;

-- name: SaveDocument :exec
INSERT INTO knowledge_documents (id, knowledge_id, workspace_id, part, source, hash, title, link, metadata, format, state, error, run_id, first_number, passages,
    bytes, created_at, changed_at)
VALUES (@id, @knowledge_id, @workspace_id, @part, @source, @hash, @title, @link, @metadata, @format, @state, @error, @run_id, @first_number, @passages,
    @bytes, @changed_at, @changed_at)
ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, title = excluded.title, link = excluded.link, metadata = excluded.metadata, format = excluded.format,
    state = excluded.state, error = excluded.error, run_id = excluded.run_id, first_number = excluded.first_number, passages = excluded.passages,
    bytes = excluded.bytes, changed_at = excluded.changed_at;

-- name: FindKnowledgeDocument :one
SELECT * FROM knowledge_documents WHERE knowledge_id = @knowledge_id AND part = @part AND source = @source AND workspace_id = @workspace_id;

-- name: FindKnowledgeDocumentByID :one
SELECT * FROM knowledge_documents WHERE id = @id AND knowledge_id = @knowledge_id AND workspace_id = @workspace_id;

-- name: ListKnowledgeDocuments :many
SELECT * FROM knowledge_documents
WHERE knowledge_id = @knowledge_id AND workspace_id = @workspace_id AND id > @after_id AND (state = @state OR @state = '')
    AND (part = @part OR CAST(@any_part AS BIGINT) = 1)
ORDER BY id LIMIT @max_rows;

-- Documents by their last change, the newest first. pattern is a lower-case LIKE pattern for the title or the source; empty accepts all.
-- name: ListNewestDocuments :many
SELECT * FROM knowledge_documents
WHERE knowledge_id = @knowledge_id AND workspace_id = @workspace_id AND (state = @state OR @state = '')
    AND (CAST(@pattern AS TEXT) = '' OR lower(title) LIKE @pattern ESCAPE '!' OR lower(source) LIKE @pattern ESCAPE '!')
    AND (changed_at < @changed_before OR changed_at = @changed_before AND id < @before_id)
ORDER BY changed_at DESC, id DESC LIMIT @max_rows;

-- name: ListParts :many
SELECT DISTINCT part FROM knowledge_documents WHERE knowledge_id = @knowledge_id AND workspace_id = @workspace_id ORDER BY part LIMIT @max_rows;

-- name: CountDocumentStates :many
SELECT state, CAST(count(*) AS BIGINT) AS documents FROM knowledge_documents WHERE knowledge_id = @knowledge_id AND workspace_id = @workspace_id GROUP BY state;

-- name: DeleteKnowledgeDocument :execrows
DELETE FROM knowledge_documents WHERE id = @id AND knowledge_id = @knowledge_id AND workspace_id = @workspace_id;

-- name: DeletePassages :execrows
DELETE FROM knowledge_passages WHERE knowledge_id = @knowledge_id AND number >= @first_number AND number < @end_number;

-- name: ListPassages :many
SELECT * FROM knowledge_passages WHERE knowledge_id = @knowledge_id AND number >= @first_number AND number < @end_number ORDER BY number LIMIT @max_rows;

-- name: LivePassages :many
SELECT number FROM knowledge_passages WHERE knowledge_id = @knowledge_id AND number >= @first_number AND number <= @last_number ORDER BY number;

-- name: InsertBlock :exec
INSERT INTO knowledge_blocks (knowledge_id, part, block, passages, first_number, last_number, stale, dimensions, head)
VALUES (@knowledge_id, @part, @block, @passages, @first_number, @last_number, 0, @dimensions, @head);

-- name: ListBlocks :many
SELECT * FROM knowledge_blocks WHERE knowledge_id = @knowledge_id AND (part = @part OR CAST(@any_part AS BIGINT) = 1) ORDER BY part, block;

-- The blocks of a search, without their heads, which are kept in memory.
-- name: ListBlockNumbers :many
SELECT block, dimensions FROM knowledge_blocks WHERE knowledge_id = @knowledge_id AND (part = @part OR CAST(@any_part AS BIGINT) = 1) ORDER BY part, block;

-- name: ListHeads :many
SELECT block, head FROM knowledge_blocks
WHERE knowledge_id = @knowledge_id AND (part = @part OR CAST(@any_part AS BIGINT) = 1) AND block >= @first_block AND block <= @last_block;

-- Marks blocks that may have passages of a part in a range.
-- name: MarkStale :exec
UPDATE knowledge_blocks SET stale = 1
WHERE knowledge_id = @knowledge_id AND part = @part AND first_number < @end_number AND last_number >= @first_number AND stale = 0;

-- name: DeleteBlock :execrows
DELETE FROM knowledge_blocks WHERE knowledge_id = @knowledge_id AND part = @part AND block = @block;

-- name: InsertWords :exec
INSERT INTO knowledge_words (knowledge_id, block, shard, data) VALUES (@knowledge_id, @block, @shard, @data);

-- name: ListWords :many
SELECT shard, data FROM knowledge_words WHERE knowledge_id = @knowledge_id AND block = @block ORDER BY shard;

-- name: DeleteWords :exec
DELETE FROM knowledge_words WHERE knowledge_id = @knowledge_id AND block = @block;

-- name: InsertVectors :exec
INSERT INTO knowledge_vectors (knowledge_id, block, piece, data) VALUES (@knowledge_id, @block, @piece, @data);

-- name: ListVectors :many
SELECT data FROM knowledge_vectors WHERE knowledge_id = @knowledge_id AND block = @block ORDER BY piece;

-- name: DeleteVectors :exec
DELETE FROM knowledge_vectors WHERE knowledge_id = @knowledge_id AND block = @block;

-- The small blocks and those with passages that are gone, of all bases, by base and part.
-- name: KnowledgeToCompact :many
SELECT b.knowledge_id, b.part, b.stale FROM knowledge_blocks b
WHERE b.stale = 1 OR b.passages < 512
ORDER BY b.knowledge_id, b.part LIMIT @max_rows;

-- name: CountStaleBlocks :one
SELECT CAST(count(*) AS BIGINT) FROM knowledge_blocks WHERE knowledge_id = @knowledge_id AND stale = 1;

-- name: DropBlocks :exec
DELETE FROM knowledge_blocks WHERE knowledge_id = @knowledge_id;

-- name: DropWords :exec
DELETE FROM knowledge_words WHERE knowledge_id = @knowledge_id;

-- name: DropVectors :exec
DELETE FROM knowledge_vectors WHERE knowledge_id = @knowledge_id;

-- name: DropPassages :exec
DELETE FROM knowledge_passages WHERE knowledge_id = @knowledge_id;

-- name: DropDocuments :exec
DELETE FROM knowledge_documents WHERE knowledge_id = @knowledge_id;

-- name: SaveEmbedding :exec
INSERT INTO embeddings (workspace_id, model, dimensions, hash, vector, used_at) VALUES (@workspace_id, @model, @dimensions, @hash, @vector, @used_at)
ON CONFLICT (workspace_id, model, dimensions, hash) DO UPDATE SET used_at = excluded.used_at;

-- name: FindEmbedding :one
SELECT vector FROM embeddings WHERE workspace_id = @workspace_id AND model = @model AND dimensions = @dimensions AND hash = @hash;

-- name: DropEmbeddings :execrows
DELETE FROM embeddings WHERE (workspace_id, model, dimensions, hash) IN (
    SELECT e.workspace_id, e.model, e.dimensions, e.hash FROM embeddings e WHERE e.used_at <= @used_before
        AND NOT EXISTS (SELECT 1 FROM knowledge_passages p WHERE p.hash = e.hash AND p.hash <> '') ORDER BY e.used_at LIMIT @max_rows);

-- The vectors of passages that are about to be deleted, unless other passages have the same text.
-- name: DropEmbeddingsOf :exec
DELETE FROM embeddings WHERE embeddings.workspace_id = @workspace_id AND embeddings.hash IN (
    SELECT p.hash FROM knowledge_passages p WHERE p.knowledge_id = @knowledge_id AND p.number >= @first_number AND p.number < @end_number AND p.hash <> '')
    AND NOT EXISTS (SELECT 1 FROM knowledge_passages o WHERE o.hash = embeddings.hash AND o.hash <> ''
        AND NOT (o.knowledge_id = @knowledge_id AND o.number >= @first_number AND o.number < @end_number));

-- The documents whose passages a filter decides about.
-- name: ListFilterFacts :many
SELECT source, metadata, first_number, passages FROM knowledge_documents
WHERE knowledge_id = @knowledge_id AND (part = @part OR CAST(@any_part AS BIGINT) = 1) AND passages > 0;

-- name: ListSources :many
SELECT source FROM knowledge_documents WHERE knowledge_id = @knowledge_id AND workspace_id = @workspace_id AND part = @part ORDER BY source;

-- name: FindWords :one
SELECT data FROM knowledge_words WHERE knowledge_id = @knowledge_id AND block = @block AND shard = @shard;

-- name: TakeBlock :one
UPDATE knowledge SET next_block = next_block + 1 WHERE id = @id RETURNING next_block, generation;

-- name: FindGeneration :one
SELECT generation FROM knowledge WHERE id = @id;

-- name: FindBlock :one
SELECT * FROM knowledge_blocks WHERE knowledge_id = @knowledge_id AND block = @block;

-- The texts of passages as they are embedded: the title of the document, the headings and the text.
-- name: ListTexts :many
SELECT p.number, p.body, p.headings, p.hash, d.title FROM knowledge_passages p JOIN knowledge_documents d ON d.id = p.document_id
WHERE p.knowledge_id = @knowledge_id AND p.number >= @first_number AND p.number <= @last_number ORDER BY p.number;

-- name: SetPassageHash :exec
UPDATE knowledge_passages SET hash = @hash WHERE knowledge_id = @knowledge_id AND number = @number AND hash = '';

-- The blocks whose next vectors are prepared: piece -1 says so.
-- name: ListPrepared :many
SELECT block FROM knowledge_vectors WHERE knowledge_id = @prepared_id AND piece = -1;

-- name: DropPreparedOfNone :exec
DELETE FROM knowledge_vectors WHERE knowledge_vectors.knowledge_id = @prepared_id
    AND (piece = -1 OR NOT EXISTS (SELECT 1 FROM knowledge_blocks b WHERE b.knowledge_id = @knowledge_id AND b.block = knowledge_vectors.block));

-- name: MovePrepared :exec
UPDATE knowledge_vectors SET knowledge_id = @knowledge_id WHERE knowledge_id = @prepared_id;

-- name: DropPrepared :exec
DELETE FROM knowledge_vectors WHERE knowledge_id > @after AND knowledge_id < @before AND knowledge_id LIKE @pattern;

-- name: SetDimensions :exec
UPDATE knowledge_blocks SET dimensions = @dimensions WHERE knowledge_id = @knowledge_id;

-- name: SwitchGeneration :execrows
UPDATE knowledge SET settings = @settings, generation = generation + 1, changes = changes + 1, changed_at = @changed_at
WHERE id = @id AND workspace_id = @workspace_id AND generation = @generation;

-- name: CountPassages :one
SELECT CAST(count(*) AS BIGINT) FROM knowledge_passages WHERE knowledge_id = @knowledge_id;

-- name: SetKnowledgeSettings :exec
UPDATE knowledge SET settings = @settings WHERE id = @id;

-- name: NoteQuote :exec
INSERT INTO knowledge_quotes (run_id, document_id) VALUES (@run_id, @document_id) ON CONFLICT DO NOTHING;

-- The runs that found passages of a document, the latest first.
-- name: ListQuotes :many
SELECT r.id, r.flow_id, r.created_at FROM knowledge_quotes q JOIN runs r ON r.id = q.run_id
WHERE q.document_id = @document_id AND r.workspace_id = @workspace_id ORDER BY q.run_id DESC LIMIT @max_rows;

-- name: CountQuotes :one
SELECT count(*) FROM knowledge_quotes WHERE document_id = @document_id;
