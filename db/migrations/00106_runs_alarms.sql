-- +goose NO TRANSACTION
-- +goose Up

-- The runs of a flow by their end, for alarms.
DROP INDEX CONCURRENTLY IF EXISTS runs_alarms;
CREATE INDEX CONCURRENTLY runs_alarms ON runs (flow_id, ended_at) WHERE place = 0 AND caller_run_id = '' AND draft = 0;
