-- +goose Up

-- The test that a run belongs to, and its case, as JSON; '' for other runs.
ALTER TABLE runs ADD COLUMN case_run TEXT NOT NULL DEFAULT '';

CREATE TABLE cases (
    flow_id      TEXT NOT NULL,
    id           TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    body         TEXT NOT NULL,
    source       TEXT NOT NULL, -- where it was applied from
    from_run     TEXT NOT NULL,
    changed_at   BIGINT NOT NULL,
    PRIMARY KEY (flow_id, id)
);
CREATE INDEX cases_run ON cases (from_run) WHERE from_run <> '';

-- What holds for all cases of a flow: defaults and gate.
CREATE TABLE case_settings (
    flow_id      TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    body         TEXT NOT NULL
);

-- Versions of the cases of flows, by hash.
CREATE TABLE case_sets (
    workspace_id TEXT NOT NULL,
    hash         TEXT NOT NULL,
    body         TEXT NOT NULL,
    PRIMARY KEY (workspace_id, hash)
);

-- Results of steps outside, which tests reuse. n is the repeat of the case. The first result stays.
CREATE TABLE recordings (
    flow_id      TEXT NOT NULL,
    node_hash    TEXT NOT NULL,
    input_hash   TEXT NOT NULL,
    n            BIGINT NOT NULL,
    workspace_id TEXT NOT NULL,
    node         TEXT NOT NULL,
    input        TEXT NOT NULL,
    outputs      TEXT NOT NULL,
    untrusted    BIGINT NOT NULL,
    used         TEXT NOT NULL, -- tokens, cost and duration
    run_id       TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    used_at      BIGINT NOT NULL,
    PRIMARY KEY (flow_id, node_hash, input_hash, n)
);
CREATE INDEX recordings_node ON recordings (flow_id, node, created_at);
CREATE INDEX recordings_age ON recordings (used_at);
CREATE INDEX recordings_run ON recordings (run_id);

CREATE TABLE tests (
    id           TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    flow_id      TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    set_hash     TEXT NOT NULL,
    spec         TEXT NOT NULL,
    made_by      TEXT NOT NULL,
    created_at   BIGINT NOT NULL
);
CREATE INDEX tests_flow ON tests (flow_id, id);
CREATE INDEX tests_run ON tests (run_id);

CREATE TABLE verdicts (
    test_id      TEXT NOT NULL,
    candidate    BIGINT NOT NULL,
    item         BIGINT NOT NULL,
    workspace_id TEXT NOT NULL,
    case_id      TEXT NOT NULL,
    n            BIGINT NOT NULL,
    state        TEXT NOT NULL,
    score        TEXT NOT NULL,
    message      TEXT NOT NULL,
    checks       TEXT NOT NULL,
    cost_nano_usd  BIGINT NOT NULL,
    spent_nano_usd BIGINT NOT NULL,
    tokens       BIGINT NOT NULL,
    ms           BIGINT NOT NULL,
    recorded     BIGINT NOT NULL,
    run_id       TEXT NOT NULL,
    PRIMARY KEY (test_id, candidate, item)
);
CREATE INDEX verdicts_run ON verdicts (run_id);
