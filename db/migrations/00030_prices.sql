-- +goose Up

-- More of what models report: tokens from a provider's cache, tokens of reasoning,
-- and how many steps called a paid model whose cost is unknown.
ALTER TABLE runs ADD COLUMN cached_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN reasoning_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN unpriced_steps BIGINT NOT NULL DEFAULT 0;
ALTER TABLE steps ADD COLUMN cached_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE steps ADD COLUMN reasoning_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE steps ADD COLUMN unpriced_steps BIGINT NOT NULL DEFAULT 0;
ALTER TABLE usage_daily ADD COLUMN cached_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE usage_daily ADD COLUMN reasoning_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE usage_daily ADD COLUMN unpriced_steps BIGINT NOT NULL DEFAULT 0;
ALTER TABLE usage_log ADD COLUMN cached_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE usage_log ADD COLUMN reasoning_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE usage_log ADD COLUMN unpriced_steps BIGINT NOT NULL DEFAULT 0;

-- usage_all with the columns above; the previous release reads usage_all.
CREATE VIEW usage_full AS
SELECT workspace_id, day, key_id, flow_id, model, bucket, runs, succeeded, failed, canceled, steps,
    input_tokens, output_tokens, cost_nano_usd, duration, cached_tokens, reasoning_tokens, unpriced_steps FROM usage_daily
UNION ALL
SELECT workspace_id, day, key_id, flow_id, model, bucket, runs, succeeded, failed, canceled, steps,
    input_tokens, output_tokens, cost_nano_usd, duration, cached_tokens, reasoning_tokens, unpriced_steps FROM usage_log WHERE hour = 0;

-- What the running step may still cost, in nano-dollars, for the budgets of a day.
-- It counts while the step runs and the run is held under reserved_attempt.
ALTER TABLE steps ADD COLUMN reserved BIGINT NOT NULL DEFAULT 0;
ALTER TABLE steps ADD COLUMN reserved_day TEXT NOT NULL DEFAULT '';
ALTER TABLE steps ADD COLUMN reserved_attempt BIGINT NOT NULL DEFAULT 0;

-- Reservations against a budget take turns by updating its row here.
CREATE TABLE budget_locks (
    workspace_id TEXT NOT NULL,
    subject      TEXT NOT NULL, -- ID of a flow or key
    turns        BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, subject)
);

-- Whether runs may use models without a price although there is a budget in dollars.
-- Budgets from before prices were known go on as they were.
ALTER TABLE flows ADD COLUMN allow_unpriced BIGINT NOT NULL DEFAULT 0;
ALTER TABLE keys ADD COLUMN allow_unpriced BIGINT NOT NULL DEFAULT 0;
UPDATE flows SET allow_unpriced = 1 WHERE usd_per_day > 0;
UPDATE keys SET allow_unpriced = 1 WHERE usd_per_day > 0;
