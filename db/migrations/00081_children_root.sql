-- +goose NO TRANSACTION
-- +goose Up

-- The documents that the child runs below a root run execute.
DROP INDEX CONCURRENTLY IF EXISTS children_root;
CREATE INDEX CONCURRENTLY children_root ON children (root_run_id, document_hash);
