-- +goose Up

-- An alarm tells people when runs of a flow, or of all flows of a workspace, need attention.
-- Its state changes with step, which fences evaluations of several instances. Runs that ended
-- until counted_to were counted. bad_at is when the condition last held, and told_at when the last message was written.
CREATE TABLE alarms (
    id           TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    flow_id      TEXT NOT NULL, -- empty for all flows
    name         TEXT NOT NULL,
    config       TEXT NOT NULL,
    is_on        BIGINT NOT NULL,
    reason       TEXT NOT NULL, -- why it is off
    rev          BIGINT NOT NULL, -- counts changes by people
    source       TEXT NOT NULL,   -- where it was applied from
    made_by      TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    changed_at   BIGINT NOT NULL,
    watched_from BIGINT NOT NULL, -- what happened before does not count
    step         BIGINT NOT NULL,
    firing_since BIGINT NOT NULL, -- 0 while it does not fire
    bad_at       BIGINT NOT NULL,
    counted_to   BIGINT NOT NULL,
    told_at      BIGINT NOT NULL,
    finding      TEXT NOT NULL    -- what was found last
);
CREATE UNIQUE INDEX alarms_name ON alarms (workspace_id, name);
CREATE INDEX alarms_flow ON alarms (flow_id);

-- Messages of alarms, one for each receiver.
CREATE TABLE alarm_messages (
    id           TEXT NOT NULL PRIMARY KEY,
    alarm_id     TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    kind         TEXT NOT NULL,
    channel      TEXT NOT NULL, -- webhook, email or flow
    target       TEXT NOT NULL,
    body         TEXT NOT NULL,
    state        TEXT NOT NULL,
    tries        BIGINT NOT NULL,
    due_at       BIGINT NOT NULL, -- 0 once it is sent or given up, and of webhooks, which are deliveries
    error        TEXT NOT NULL,
    delivery_id  TEXT NOT NULL,
    run_id       TEXT NOT NULL,
    created_at   BIGINT NOT NULL
);
CREATE INDEX alarm_messages_list ON alarm_messages (alarm_id, id);
CREATE INDEX alarm_messages_due ON alarm_messages (due_at) WHERE due_at > 0;
CREATE INDEX alarm_messages_age ON alarm_messages (created_at);

-- Work that one instance at a time does, and until when it may.
CREATE TABLE leases (
    name        TEXT NOT NULL PRIMARY KEY,
    instance_id TEXT NOT NULL,
    until_at    BIGINT NOT NULL
);
