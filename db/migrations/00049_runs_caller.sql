-- +goose NO TRANSACTION
-- +goose Up

-- The child runs of a step, by item. Items are unique because the transaction that starts
-- a child deletes its row from child_items.
DROP INDEX CONCURRENTLY IF EXISTS runs_caller;
CREATE INDEX CONCURRENTLY runs_caller ON runs (caller_run_id, caller_path, caller_round, caller_item) WHERE caller_run_id <> '';
