-- +goose Up

-- Limits of the calls with a credential; 0: none. Calls take turns by updating calls_turn.
ALTER TABLE credentials ADD COLUMN max_calls BIGINT NOT NULL DEFAULT 0;
ALTER TABLE credentials ADD COLUMN calls_per_minute BIGINT NOT NULL DEFAULT 0;
ALTER TABLE credentials ADD COLUMN calls_turn BIGINT NOT NULL DEFAULT 0;

-- Calls with credentials that have limits: those that wait, those that run, and those that
-- began in the last minute.
CREATE TABLE credential_calls (
    id           TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    credential   TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    path         TEXT NOT NULL,
    queued_at    BIGINT NOT NULL,
    started_at   BIGINT NOT NULL, -- 0 while it waits
    ended_at     BIGINT NOT NULL, -- 0 until then
    due_at       BIGINT NOT NULL  -- when one that waits asks again, or one that runs counts as lost
);
CREATE INDEX credential_calls_by_credential ON credential_calls (workspace_id, credential, queued_at);
