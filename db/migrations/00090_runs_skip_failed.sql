-- +goose Up

-- Set for a rerun that continues without the items that failed in the run it repeats.
ALTER TABLE runs ADD COLUMN skip_failed BIGINT NOT NULL DEFAULT 0;
