-- +goose Up

-- The models that answered in a run, as a JSON list; '' for none.
ALTER TABLE runs ADD COLUMN models TEXT NOT NULL DEFAULT '';
