-- +goose NO TRANSACTION
-- +goose Up

-- Ended runs by all that a list can be narrowed by, and then by ID; see
-- db/runs_filter.go. A run enters it once, at its end. The previous program
-- lists runs correctly without its own index, but slowly.
DROP INDEX CONCURRENTLY IF EXISTS runs_ended;
CREATE INDEX CONCURRENTLY runs_ended ON runs (workspace_id, state, draft, run_trigger, flow_id, key_id, id, version) WHERE place = 0;
DROP INDEX CONCURRENTLY IF EXISTS runs_list;
