-- +goose Up

-- A base of documents that flows add to and search. flow_id is its hidden flow, which the runs that index documents belong to.
-- generation counts changes of how documents are indexed. next_number and next_block are the next free numbers of passages and
-- blocks; changes counts changes of the content.
CREATE TABLE knowledge (
    id           TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    flow_id      TEXT NOT NULL,
    slug         TEXT NOT NULL,
    name         TEXT NOT NULL,
    settings     TEXT NOT NULL,
    generation   BIGINT NOT NULL,
    next_number  BIGINT NOT NULL,
    next_block   BIGINT NOT NULL,
    changes      BIGINT NOT NULL,
    documents    BIGINT NOT NULL,
    passages     BIGINT NOT NULL,
    bytes        BIGINT NOT NULL,
    source       TEXT NOT NULL, -- where it was applied from
    made_by      TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    changed_at   BIGINT NOT NULL
);
CREATE UNIQUE INDEX knowledge_slug ON knowledge (workspace_id, slug);

-- state is ready or failed. A failed document keeps the passages of its last good version, if it has any. first_number and
-- passages say which passages are its own, in the generation of the base.
CREATE TABLE knowledge_documents (
    id           TEXT NOT NULL PRIMARY KEY,
    knowledge_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    part         TEXT NOT NULL,
    source       TEXT NOT NULL,
    hash         TEXT NOT NULL, -- of the content and of what decides how it is indexed
    title        TEXT NOT NULL,
    link         TEXT NOT NULL,
    metadata     TEXT NOT NULL,
    format       TEXT NOT NULL,
    state        TEXT NOT NULL,
    error        TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    first_number BIGINT NOT NULL,
    passages     BIGINT NOT NULL,
    bytes        BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    changed_at   BIGINT NOT NULL
);
CREATE UNIQUE INDEX knowledge_documents_source ON knowledge_documents (knowledge_id, part, source);
CREATE INDEX knowledge_documents_list ON knowledge_documents (knowledge_id, id);
CREATE INDEX knowledge_documents_run ON knowledge_documents (run_id);

CREATE TABLE knowledge_passages (
    knowledge_id TEXT NOT NULL,
    number       BIGINT NOT NULL,
    document_id  TEXT NOT NULL,
    body         TEXT NOT NULL,
    headings     TEXT NOT NULL,
    page         BIGINT NOT NULL,
    start_at     BIGINT NOT NULL, -- of the text of the document, in bytes
    end_at       BIGINT NOT NULL,
    cells        TEXT NOT NULL, -- of a row of a table
    hash         TEXT NOT NULL, -- of the text that its vector was made of; see embeddings
    PRIMARY KEY (knowledge_id, number)
);
CREATE INDEX knowledge_passages_hash ON knowledge_passages (hash) WHERE hash <> '';

-- The index: blocks of passages of one part, which are never changed. A document has a block of its own at first; background work
-- merges blocks, and replaces those with passages that are gone. stale says that a block has such.
CREATE TABLE knowledge_blocks (
    knowledge_id TEXT NOT NULL,
    part         TEXT NOT NULL,
    block        BIGINT NOT NULL,
    passages     BIGINT NOT NULL,
    first_number BIGINT NOT NULL,
    last_number  BIGINT NOT NULL,
    stale        BIGINT NOT NULL,
    dimensions   BIGINT NOT NULL,
    head         BYTEA NOT NULL,
    PRIMARY KEY (knowledge_id, part, block)
);
CREATE INDEX knowledge_blocks_work ON knowledge_blocks (knowledge_id, part) WHERE stale = 1 OR passages < 512;

CREATE TABLE knowledge_words (
    knowledge_id TEXT NOT NULL,
    block        BIGINT NOT NULL,
    shard        BIGINT NOT NULL,
    data         BYTEA NOT NULL,
    PRIMARY KEY (knowledge_id, block, shard)
);

CREATE TABLE knowledge_vectors (
    knowledge_id TEXT NOT NULL,
    block        BIGINT NOT NULL,
    piece        BIGINT NOT NULL,
    data         BYTEA NOT NULL,
    PRIMARY KEY (knowledge_id, block, piece)
);

-- Vectors of texts, so that no text of a workspace is embedded twice with a model.
CREATE TABLE embeddings (
    workspace_id TEXT NOT NULL,
    model        TEXT NOT NULL,
    dimensions   BIGINT NOT NULL, -- as requested; 0 for those of the model
    hash         TEXT NOT NULL,
    vector       BYTEA NOT NULL,
    used_at      BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, model, dimensions, hash)
);
CREATE INDEX embeddings_age ON embeddings (used_at);

-- The base whose hidden flow it is. Such a flow is in no list.
ALTER TABLE flows ADD COLUMN knowledge_id TEXT NOT NULL DEFAULT '';
