-- Flows as pages for anybody. settings is JSON; day counts days since 1970 UTC
-- and taken the runs that the form started on it.

-- +goose Up
CREATE TABLE forms (
    flow_id      TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    is_on        BIGINT NOT NULL,
    settings     TEXT NOT NULL,
    updated_at   BIGINT NOT NULL,
    day          BIGINT NOT NULL,
    taken        BIGINT NOT NULL
);
