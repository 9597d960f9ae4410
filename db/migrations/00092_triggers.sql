-- +goose Up

-- A trigger starts runs of the live version of a flow without a caller, such as a schedule.
-- next_at is the planned time of a schedule that is decided next, and 0 if it is off or over.
-- due_at is when an instance looks at the trigger: next_at and the trigger's delay, or earlier if
-- a planned time waits for its start, which is then waiting_at. Times up to missed_until
-- never start: they may have started before the database was restored.
-- sealed and token_hash are the secret of a URL, day and taken count its runs of a day.
CREATE TABLE triggers (
    id           TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    flow_id      TEXT NOT NULL,
    name         TEXT NOT NULL,
    kind         TEXT NOT NULL,
    config       TEXT NOT NULL,
    sealed       BYTEA NOT NULL,
    token_hash   TEXT NOT NULL,
    is_on        BIGINT NOT NULL,
    reason       TEXT NOT NULL, -- why it is off
    next_at      BIGINT NOT NULL,
    due_at       BIGINT NOT NULL,
    waiting_at   BIGINT NOT NULL,
    decided_at   BIGINT NOT NULL, -- the last planned time that was decided
    missed_until BIGINT NOT NULL,
    last_run_id  TEXT NOT NULL,
    rev          BIGINT NOT NULL, -- counts changes by people
    source       TEXT NOT NULL,   -- where it was applied from; see flows.applied_source
    made_by      TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    changed_at   BIGINT NOT NULL,
    day          BIGINT NOT NULL,
    taken        BIGINT NOT NULL
);
CREATE UNIQUE INDEX triggers_name ON triggers (flow_id, name);
CREATE INDEX triggers_list ON triggers (workspace_id, flow_id, name);
CREATE INDEX triggers_due ON triggers (due_at) WHERE due_at > 0;
CREATE UNIQUE INDEX triggers_token ON triggers (token_hash) WHERE token_hash <> '';

-- One row for each time that a trigger acted or should have acted. event_key is the planned
-- time of a schedule in UTC.
CREATE TABLE events (
    trigger_id   TEXT NOT NULL,
    event_key    TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    flow_id      TEXT NOT NULL,
    position     TEXT NOT NULL, -- orders the events
    created_at   BIGINT NOT NULL,
    state        TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    code         TEXT NOT NULL,
    detail       TEXT NOT NULL,
    repeats      BIGINT NOT NULL,
    request      TEXT NOT NULL,
    PRIMARY KEY (trigger_id, event_key)
);
CREATE INDEX events_list ON events (trigger_id, position);
CREATE INDEX events_flow ON events (flow_id, position);
CREATE INDEX events_age ON events (created_at);

-- What started a run: the trigger, with the name that it had, the planned time, and the key of the event.
ALTER TABLE runs ADD COLUMN trigger_id TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN trigger_name TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN scheduled_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN event_key TEXT NOT NULL DEFAULT '';

-- When an idempotency key may be used again; 0 for rows of earlier releases, which count from created_at.
ALTER TABLE idempotency ADD COLUMN expires_at BIGINT NOT NULL DEFAULT 0;

-- The time zone of schedules that name none; '' is UTC.
ALTER TABLE workspaces ADD COLUMN timezone TEXT NOT NULL DEFAULT '';
