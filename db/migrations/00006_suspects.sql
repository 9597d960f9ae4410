-- +goose Up

-- What finds the run that stops the process. busy says that the run works inside
-- the process of its instance (PostgreSQL; on SQLite a file beside the database
-- says it). The others are about crashes in a row with nothing recorded between:
-- how often the run was busy in one, how many runs shared its last trial, and how
-- much speaks against it after trials that it had for itself (3: it is given up).
ALTER TABLE runs ADD COLUMN busy BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN busy_crashes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN trial_size BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN guilt BIGINT NOT NULL DEFAULT 0;
