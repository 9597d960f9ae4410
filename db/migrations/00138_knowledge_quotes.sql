-- +goose Up

-- Which runs found passages of a document, so that its removal can name those that still have its text. Rows end with what
-- their run recorded.
CREATE TABLE knowledge_quotes (
    run_id      TEXT NOT NULL,
    document_id TEXT NOT NULL,
    PRIMARY KEY (run_id, document_id)
);
CREATE INDEX knowledge_quotes_document ON knowledge_quotes (document_id, run_id);
