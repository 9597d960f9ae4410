-- On PostgreSQL a transaction that ends runs adds its numbers to usage_log, a
-- row that no other transaction touches, instead of changing the one row of the
-- day and the flow, for which all others would have to wait. A background task
-- adds them to the tables of the days and hours about once a second. hour is 0
-- for an addition to usage_daily, else that of an addition to flow_hours.

-- +goose Up
CREATE TABLE usage_log (
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
    hour          BIGINT NOT NULL
);

-- What was used on each day, whether it has been added to its day or not. Rows
-- may have to be added up.
CREATE VIEW usage_all AS
SELECT workspace_id, day, key_id, flow_id, model, bucket, runs, succeeded, failed, canceled, steps,
    input_tokens, output_tokens, cost_nano_usd, duration FROM usage_daily
UNION ALL
SELECT workspace_id, day, key_id, flow_id, model, bucket, runs, succeeded, failed, canceled, steps,
    input_tokens, output_tokens, cost_nano_usd, duration FROM usage_log WHERE hour = 0;

CREATE VIEW hours_all AS
SELECT workspace_id, flow_id, hour, bucket, succeeded, failed, canceled, cost_nano_usd FROM flow_hours
UNION ALL
SELECT workspace_id, flow_id, hour, bucket, succeeded, failed, canceled, cost_nano_usd FROM usage_log WHERE hour > 0;
