-- +goose Up

-- How many runs are above a run: the callers of a child run, and the runs that called each other over HTTP.
ALTER TABLE runs ADD COLUMN depth BIGINT NOT NULL DEFAULT 0;
