-- +goose NO TRANSACTION
-- +goose Up

-- Runs that continue a run, and runs that begin with a conversation.
DROP INDEX CONCURRENTLY IF EXISTS runs_continues;
CREATE INDEX CONCURRENTLY runs_continues ON runs (continues) WHERE continues <> '';
DROP INDEX CONCURRENTLY IF EXISTS runs_context;
CREATE INDEX CONCURRENTLY runs_context ON runs (context_hash) WHERE context_hash <> '';
