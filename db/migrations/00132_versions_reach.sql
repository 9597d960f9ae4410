-- +goose Up

-- What the flows that are tools of a version could do when it was published, as JSON by node: a later version of such a flow may do
-- more. Empty if the version has no such tools, or was published by an earlier release.
ALTER TABLE versions ADD COLUMN reach TEXT NOT NULL DEFAULT '';
