-- +goose Up

-- What a person wrote about the report of a test, and who.
ALTER TABLE tests ADD COLUMN notes TEXT NOT NULL DEFAULT '';
ALTER TABLE tests ADD COLUMN notes_by TEXT NOT NULL DEFAULT '';
