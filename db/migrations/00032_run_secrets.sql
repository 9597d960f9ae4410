-- +goose Up

-- The values of a run's secret inputs, encrypted; empty if it has none.
ALTER TABLE runs ADD COLUMN secrets BYTEA NOT NULL DEFAULT '';
