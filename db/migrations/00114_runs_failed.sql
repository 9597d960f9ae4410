-- +goose NO TRANSACTION
-- +goose Up

-- The failed runs of a workspace, for lists of them. Runs that succeed do not enter it.
DROP INDEX CONCURRENTLY IF EXISTS runs_failed;
CREATE INDEX CONCURRENTLY runs_failed ON runs (workspace_id, id, run_trigger) WHERE state = 'failed' AND place = 0;
