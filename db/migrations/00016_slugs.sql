-- +goose Up

-- The name of a flow in URLs, unique in its workspace; empty until the program
-- has made one, for flows of previous programs.
ALTER TABLE flows ADD COLUMN slug TEXT NOT NULL DEFAULT '';
CREATE INDEX flows_unnamed ON flows (id) WHERE slug = '';

-- The revision of the draft after the last apply, and the source of that apply;
-- 0 and empty for flows that were never applied.
ALTER TABLE flows ADD COLUMN applied_rev BIGINT NOT NULL DEFAULT 0;
ALTER TABLE flows ADD COLUMN applied_source TEXT NOT NULL DEFAULT '';

-- All slugs, the former ones of renamed flows too, which keep working.
CREATE TABLE slugs (
    workspace_id TEXT NOT NULL,
    slug         TEXT NOT NULL,
    flow_id      TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, slug)
);
