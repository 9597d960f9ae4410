-- +goose NO TRANSACTION
-- +goose Up

-- Runs that stop after the turns of their agents.
DROP INDEX CONCURRENTLY IF EXISTS runs_stop;
CREATE INDEX CONCURRENTLY runs_stop ON runs (id) WHERE stop_requested = 1 AND place = 2;
