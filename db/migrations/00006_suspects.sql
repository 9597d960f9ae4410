-- +goose Up

-- Columns that find a run that crashes the process. busy is set while the run
-- works inside the process of its instance (PostgreSQL only; SQLite uses a file
-- beside the database). The other columns describe consecutive crashes with
-- nothing recorded in between: in how many of them the run was busy, how many
-- runs shared its last trial, and its guilt after trials of its own (3: it is
-- given up).
ALTER TABLE runs ADD COLUMN busy BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN busy_crashes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN trial_size BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN guilt BIGINT NOT NULL DEFAULT 0;
