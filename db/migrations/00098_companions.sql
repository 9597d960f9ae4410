-- +goose Up

-- A companion is a file beside a flow or a workspace, such as SLUG.triggers.json. Its content is in tables of its own; this one counts
-- its revisions. owner_id is the ID of the flow or of the workspace. applied_rev is the revision that the last apply made or found,
-- and source is where that came from.
CREATE TABLE companions (
    owner_id     TEXT NOT NULL,
    name         TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    rev          BIGINT NOT NULL,
    hash         TEXT NOT NULL, -- of the body; '' if it is not known
    applied_rev  BIGINT NOT NULL,
    source       TEXT NOT NULL,
    changed_at   BIGINT NOT NULL,
    PRIMARY KEY (owner_id, name)
);
CREATE INDEX companions_list ON companions (workspace_id, owner_id, name);
INSERT INTO companions (owner_id, name, workspace_id, rev, hash, applied_rev, source, changed_at)
SELECT DISTINCT t.flow_id, 'triggers', t.workspace_id, 1, '', 0, '', 0 FROM triggers t;

-- The last revisions of each companion, as files.
CREATE TABLE companion_bodies (
    owner_id     TEXT NOT NULL,
    name         TEXT NOT NULL,
    rev          BIGINT NOT NULL,
    workspace_id TEXT NOT NULL,
    hash         TEXT NOT NULL,
    body         TEXT NOT NULL,
    made_by      TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (owner_id, name, rev)
);
