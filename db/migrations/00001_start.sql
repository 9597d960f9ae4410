-- The same text runs on SQLite and PostgreSQL. Times are microseconds since 1970
-- (UTC), or 0 for no time. Flags are 0 or 1. JSON is TEXT, or '' for no value.
-- BYTEA columns hold values that are encrypted with the master key.

-- +goose Up
CREATE TABLE meta (
    name  TEXT NOT NULL PRIMARY KEY,
    value BYTEA NOT NULL
);

CREATE TABLE workspaces (
    id          TEXT NOT NULL PRIMARY KEY,
    name        TEXT NOT NULL,
    max_running BIGINT NOT NULL,
    max_queued  BIGINT NOT NULL,
    created_at  BIGINT NOT NULL
);

CREATE TABLE users (
    id            TEXT NOT NULL PRIMARY KEY,
    email         TEXT NOT NULL UNIQUE,
    name          TEXT NOT NULL,
    password_hash TEXT NOT NULL,
    created_at    BIGINT NOT NULL
);

CREATE TABLE members (
    workspace_id TEXT NOT NULL,
    user_id      TEXT NOT NULL,
    role         TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX members_user ON members (user_id, workspace_id);

-- id names a session to its person; it says nothing about the token.
CREATE TABLE sessions (
    token_hash   TEXT NOT NULL PRIMARY KEY,
    id           TEXT NOT NULL,
    user_id      TEXT NOT NULL,
    ip           TEXT NOT NULL,
    agent        TEXT NOT NULL,
    signed_in_at BIGINT NOT NULL,
    seen_at      BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    data         BYTEA NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id, id);
CREATE INDEX sessions_expiry ON sessions (expires_at);

-- Links that work once: one lets a new member in, or a member set a password.
-- user_id is whose password it sets, '' for new members.
CREATE TABLE invites (
    id           TEXT NOT NULL PRIMARY KEY,
    token_hash   TEXT NOT NULL UNIQUE,
    workspace_id TEXT NOT NULL,
    email        TEXT NOT NULL,
    role         TEXT NOT NULL,
    user_id      TEXT NOT NULL,
    created_by   TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL
);
CREATE INDEX invites_list ON invites (workspace_id, id);
CREATE INDEX invites_user ON invites (user_id) WHERE user_id <> '';
CREATE INDEX invites_expiry ON invites (expires_at);

-- How often somebody failed to sign in of late, by account and by address, and
-- until when they wait. The names are hashes.
CREATE TABLE throttles (
    name      TEXT NOT NULL PRIMARY KEY,
    failures  BIGINT NOT NULL,
    failed_at BIGINT NOT NULL,
    until_at  BIGINT NOT NULL
);
CREATE INDEX throttles_age ON throttles (failed_at);

CREATE TABLE flows (
    id           TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    name         TEXT NOT NULL,
    description  TEXT NOT NULL,
    tags         TEXT NOT NULL,
    draft        TEXT NOT NULL,
    rev          BIGINT NOT NULL,
    live_version BIGINT NOT NULL,
    max_running  BIGINT NOT NULL,
    max_queued   BIGINT NOT NULL,
    signing      BYTEA NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    archived_at  BIGINT NOT NULL
);
CREATE INDEX flows_list ON flows (workspace_id, id);

CREATE TABLE versions (
    flow_id       TEXT NOT NULL,
    number        BIGINT NOT NULL,
    workspace_id  TEXT NOT NULL,
    document_hash TEXT NOT NULL,
    summary       TEXT NOT NULL,
    created_by    TEXT NOT NULL,
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (flow_id, number)
);

CREATE TABLE documents (
    workspace_id TEXT NOT NULL,
    hash         TEXT NOT NULL,
    body         TEXT NOT NULL,
    PRIMARY KEY (workspace_id, hash)
);

-- The log of a draft: what took it to each revision, and what takes it back.
CREATE TABLE edits (
    flow_id      TEXT NOT NULL,
    rev          BIGINT NOT NULL,
    workspace_id TEXT NOT NULL,
    tx_id        TEXT NOT NULL,
    tab          TEXT NOT NULL,
    user_id      TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    ops          TEXT NOT NULL,
    inverse      TEXT NOT NULL,
    skipped      TEXT NOT NULL,
    PRIMARY KEY (flow_id, rev)
);
CREATE UNIQUE INDEX edits_tx ON edits (flow_id, tx_id);
CREATE INDEX edits_age ON edits (created_at);

-- Sample outputs that stand in for a node of a draft.
CREATE TABLE pins (
    flow_id      TEXT NOT NULL,
    node_id      TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    outputs      TEXT NOT NULL,
    PRIMARY KEY (flow_id, node_id)
);

CREATE TABLE keys (
    id           TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    name         TEXT NOT NULL,
    prefix       TEXT NOT NULL,
    hash         TEXT NOT NULL UNIQUE,
    scopes       TEXT NOT NULL,
    flows        TEXT NOT NULL,
    rpm          BIGINT NOT NULL,
    concurrency  BIGINT NOT NULL,
    usd_per_day  BIGINT NOT NULL,
    run_trigger  TEXT NOT NULL,
    created_by   TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    revoked_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    last_used_ip TEXT NOT NULL,
    uses         BIGINT NOT NULL
);

-- place says who holds a run: 0 nobody, it has ended; 1 the queue; 2 a worker
-- or its job; 3 nobody, it waits; 4 nobody, it is suspected of crashing us.
-- What is large stands last, so that reading the rest need not walk over it.
CREATE TABLE runs (
    id               TEXT NOT NULL PRIMARY KEY,
    workspace_id     TEXT NOT NULL,
    flow_id          TEXT NOT NULL,
    version          BIGINT NOT NULL,
    draft            BIGINT NOT NULL,
    document_hash    TEXT NOT NULL,
    state            TEXT NOT NULL,
    place            BIGINT NOT NULL,
    attempt          BIGINT NOT NULL,
    instance_id      TEXT NOT NULL,
    run_trigger      TEXT NOT NULL,
    key_id           TEXT NOT NULL,
    user_id          TEXT NOT NULL,
    parent_run_id    TEXT NOT NULL,
    rerun_from       TEXT NOT NULL,
    input_tokens     BIGINT NOT NULL,
    output_tokens    BIGINT NOT NULL,
    cost_nano_usd    BIGINT NOT NULL,
    progress_done    BIGINT NOT NULL,
    progress_total   BIGINT NOT NULL,
    seq              BIGINT NOT NULL,
    run_seq          BIGINT NOT NULL,
    writes           BIGINT NOT NULL,
    save             BIGINT NOT NULL,
    timeout          BIGINT NOT NULL,
    cancel_requested BIGINT NOT NULL,
    crashes          BIGINT NOT NULL,
    created_at       BIGINT NOT NULL,
    started_at       BIGINT NOT NULL,
    ended_at         BIGINT NOT NULL,
    expires_at       BIGINT NOT NULL,
    deadline_at      BIGINT NOT NULL,
    waiting_since    BIGINT NOT NULL,
    erased           TEXT NOT NULL,
    gist             TEXT NOT NULL,
    webhook          BYTEA NOT NULL,
    error            TEXT NOT NULL,
    metadata         TEXT NOT NULL,
    inputs           TEXT NOT NULL,
    outputs          TEXT NOT NULL
);
-- All that a list of runs can be narrowed by, and then the ID: see db/runs_filter.go.
CREATE INDEX runs_list ON runs (workspace_id, state, flow_id, version, key_id, run_trigger, id);
CREATE INDEX runs_open ON runs (place, workspace_id, key_id, flow_id, id) WHERE place > 0;
CREATE INDEX runs_expiry ON runs (expires_at) WHERE expires_at > 0 AND erased = '';
-- The three below are empty except in runs that ask for it.
CREATE INDEX runs_cancel ON runs (id) WHERE cancel_requested = 1 AND place = 2;
CREATE INDEX runs_unsaved ON runs (id) WHERE save = 0 AND place = 0 AND erased = '';
CREATE INDEX runs_tombstones ON runs (ended_at) WHERE erased <> '';

CREATE TABLE steps (
    run_id        TEXT NOT NULL,
    path          TEXT NOT NULL,
    workspace_id  TEXT NOT NULL,
    node          TEXT NOT NULL,
    kind          TEXT NOT NULL,
    state         TEXT NOT NULL,
    attempt       BIGINT NOT NULL,
    failures      BIGINT NOT NULL,
    node_hash     TEXT NOT NULL,
    input_hash    TEXT NOT NULL,
    input_tokens  BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost_nano_usd BIGINT NOT NULL,
    seq           BIGINT NOT NULL,
    output_seq    BIGINT NOT NULL,
    started_at    BIGINT NOT NULL,
    ended_at      BIGINT NOT NULL,
    wait_until    BIGINT NOT NULL,
    error         TEXT NOT NULL,
    saved         TEXT NOT NULL,
    input         TEXT NOT NULL,
    outputs       TEXT NOT NULL,
    attempts      TEXT NOT NULL, -- those of a step that needed more than one
    PRIMARY KEY (run_id, path)
);

-- How many runs stand in the queue, so that nobody counts a million of them.
CREATE TABLE queue_lengths (
    workspace_id TEXT NOT NULL,
    flow_id      TEXT NOT NULL,
    queued       BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, flow_id)
);

CREATE TABLE idempotency (
    workspace_id TEXT NOT NULL,
    name         TEXT NOT NULL,
    fingerprint  TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, name)
);
CREATE INDEX idempotency_age ON idempotency (created_at);

CREATE TABLE wakes (
    run_id       TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    wake_at      BIGINT NOT NULL
);
CREATE INDEX wakes_due ON wakes (wake_at);

-- due_at is when a job is to be made for it: 0 when there is one or none is
-- wanted. next_at is the same time for people and stays.
CREATE TABLE deliveries (
    id           TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    flow_id      TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    node         TEXT NOT NULL,
    url          TEXT NOT NULL,
    header       TEXT NOT NULL,
    secret       BYTEA NOT NULL,
    signature    BYTEA NOT NULL,
    state        TEXT NOT NULL,
    attempt      BIGINT NOT NULL,
    tries        BIGINT NOT NULL,
    fence        BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    due_at       BIGINT NOT NULL,
    next_at      BIGINT NOT NULL,
    ended_at     BIGINT NOT NULL,
    erased       TEXT NOT NULL,
    body         TEXT NOT NULL
);
CREATE INDEX deliveries_list ON deliveries (workspace_id, flow_id, id);
CREATE INDEX deliveries_run ON deliveries (run_id);
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at > 0;
CREATE INDEX deliveries_pending ON deliveries (id) WHERE ended_at = 0;

CREATE TABLE delivery_attempts (
    delivery_id  TEXT NOT NULL,
    number       BIGINT NOT NULL,
    workspace_id TEXT NOT NULL,
    started_at   BIGINT NOT NULL,
    latency      BIGINT NOT NULL,
    status       BIGINT NOT NULL,
    error        TEXT NOT NULL,
    response     TEXT NOT NULL,
    PRIMARY KEY (delivery_id, number)
);

-- A file whose erased_at is set is gone for everybody; the row stays until its
-- content is removed too, which files of the same hash share.
CREATE TABLE files (
    id           TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    name         TEXT NOT NULL,
    mime         TEXT NOT NULL,
    size         BIGINT NOT NULL,
    hash         TEXT NOT NULL,
    key_id       TEXT NOT NULL,
    kept         BIGINT NOT NULL, -- a flow document refers to it: runs do not take it with them
    created_at   BIGINT NOT NULL,
    erased_at    BIGINT NOT NULL
);
CREATE INDEX files_erased ON files (id) WHERE erased_at > 0;
CREATE INDEX files_hash ON files (hash);
CREATE INDEX files_age ON files (created_at) WHERE erased_at = 0 AND kept = 0;

CREATE TABLE run_files (
    run_id       TEXT NOT NULL,
    file_id      TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    PRIMARY KEY (run_id, file_id)
);
CREATE INDEX run_files_file ON run_files (file_id, run_id);

-- The content of files on PostgreSQL; on SQLite it lies in a directory. Chunks
-- belong to the upload that brought them: to an open one, or to the one that a
-- blob, which is content by its hash, was made of.
CREATE TABLE uploads (
    id         TEXT NOT NULL PRIMARY KEY,
    touched_at BIGINT NOT NULL
);
CREATE INDEX uploads_age ON uploads (touched_at);

CREATE TABLE chunks (
    upload_id TEXT NOT NULL,
    number    BIGINT NOT NULL,
    data      BYTEA NOT NULL,
    PRIMARY KEY (upload_id, number)
);

CREATE TABLE blobs (
    hash      TEXT NOT NULL PRIMARY KEY,
    upload_id TEXT NOT NULL,
    size      BIGINT NOT NULL
);

CREATE TABLE credentials (
    id           TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    name         TEXT NOT NULL,
    provider     TEXT NOT NULL,
    base_url     TEXT NOT NULL,
    trusted      BIGINT NOT NULL,
    hosts        TEXT NOT NULL,
    value        BYTEA NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    UNIQUE (workspace_id, name)
);

CREATE TABLE prices (
    workspace_id TEXT NOT NULL,
    model        TEXT NOT NULL, -- provider/model
    input        BIGINT NOT NULL, -- nano-dollars per million tokens
    output       BIGINT NOT NULL,
    second       BIGINT NOT NULL, -- nano-dollars per second of compute
    call         BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, model)
);

-- bucket is which durations a row counts: see flow.Bucket.
CREATE TABLE usage_daily (
    workspace_id  TEXT NOT NULL,
    day           TEXT NOT NULL,
    key_id        TEXT NOT NULL,
    flow_id       TEXT NOT NULL,
    model         TEXT NOT NULL,
    bucket        BIGINT NOT NULL,
    runs          BIGINT NOT NULL,
    succeeded     BIGINT NOT NULL,
    failed        BIGINT NOT NULL,
    canceled      BIGINT NOT NULL,
    steps         BIGINT NOT NULL,
    input_tokens  BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost_nano_usd BIGINT NOT NULL,
    duration      BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, day, key_id, flow_id, model, bucket)
);

-- The last days of each flow by the hour, counted since 1970.
CREATE TABLE flow_hours (
    workspace_id  TEXT NOT NULL,
    flow_id       TEXT NOT NULL,
    hour          BIGINT NOT NULL,
    bucket        BIGINT NOT NULL,
    succeeded     BIGINT NOT NULL,
    failed        BIGINT NOT NULL,
    canceled      BIGINT NOT NULL,
    cost_nano_usd BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, flow_id, hour, bucket)
);
CREATE INDEX flow_hours_age ON flow_hours (hour);

CREATE TABLE instances (
    id           TEXT NOT NULL PRIMARY KEY,
    workers      BIGINT NOT NULL,
    started_at   BIGINT NOT NULL,
    heartbeat_at BIGINT NOT NULL
);

CREATE TABLE audit (
    id           TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    actor        TEXT NOT NULL,
    action       TEXT NOT NULL,
    target       TEXT NOT NULL,
    detail       TEXT NOT NULL,
    ip           TEXT NOT NULL,
    created_at   BIGINT NOT NULL
);
CREATE INDEX audit_list ON audit (workspace_id, id);
