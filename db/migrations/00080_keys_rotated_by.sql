-- +goose Up

-- The keys that have rotated a key and so know one of its secrets, as a JSON array of IDs;
-- empty for none. A program that knows a secret could answer its own questions with that key.
ALTER TABLE keys ADD COLUMN rotated_by TEXT NOT NULL DEFAULT '';
