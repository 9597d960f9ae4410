-- +goose Up

-- Which runs found passages of a document, so that whoever removes it learns which of them still have its text. Rows end with what
-- their run recorded.
CREATE TABLE knowledge_quotes (
    run_id      TEXT NOT NULL,
    document_id TEXT NOT NULL,
    PRIMARY KEY (run_id, document_id)
);
CREATE INDEX knowledge_quotes_document ON knowledge_quotes (document_id, run_id);
