-- +goose NO TRANSACTION
-- +goose Up

-- The keys that a key or a person has made.
DROP INDEX CONCURRENTLY IF EXISTS keys_makers;
CREATE INDEX CONCURRENTLY keys_makers ON keys (workspace_id, created_by);
