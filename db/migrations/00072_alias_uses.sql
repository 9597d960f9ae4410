-- +goose Up

-- How often a key named a flow by a former slug, by day. A person who gives the slug to
-- another flow sees which callers that would affect.
CREATE TABLE alias_uses (
    workspace_id TEXT NOT NULL,
    slug         TEXT NOT NULL,
    key_id       TEXT NOT NULL,
    day          TEXT NOT NULL, -- 2006-01-02, UTC
    calls        BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, slug, day, key_id)
);
CREATE INDEX alias_uses_by_day ON alias_uses (day);
