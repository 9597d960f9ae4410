-- +goose Up

-- Conversations of agents that runs begin with: what an earlier run of the flow had recorded, as JSON. Runs that
-- continue the same run share a row. It is deleted with the content of the last run that refers to it.
CREATE TABLE run_contexts (
    workspace_id TEXT NOT NULL,
    hash         TEXT NOT NULL,
    content      TEXT NOT NULL,
    PRIMARY KEY (workspace_id, hash)
);

-- continues is the run that a run continues; context_hash names its row of run_contexts.
ALTER TABLE runs ADD COLUMN continues TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN context_hash TEXT NOT NULL DEFAULT '';
