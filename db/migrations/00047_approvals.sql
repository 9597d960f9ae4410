-- +goose Up

-- Questions that steps ask people, with their decisions. They are erased with the
-- steps of their run.
CREATE TABLE approvals (
    run_id       TEXT NOT NULL,
    path         TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    flow_id      TEXT NOT NULL,
    node         TEXT NOT NULL,
    token_hash   TEXT NOT NULL, -- SHA-256 of the secret part of the link
    question     TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    decided_at   BIGINT NOT NULL, -- 0 while it is open
    decision     TEXT NOT NULL,
    seen         BIGINT NOT NULL, -- 1 once the step has read the decision
    PRIMARY KEY (run_id, path)
);
CREATE UNIQUE INDEX approvals_token ON approvals (token_hash);
CREATE INDEX approvals_open ON approvals (workspace_id, created_at) WHERE decided_at = 0;
