-- +goose Up

-- Lists of documents by their last change.
CREATE INDEX knowledge_documents_changed ON knowledge_documents (knowledge_id, changed_at, id);
