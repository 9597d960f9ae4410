-- +goose Up

-- What was spent on each day, whether it has been added to its day or not: usage_all without
-- the many rows that cost nothing. Starts and steps under a budget in dollars add it up.
CREATE VIEW spent_all AS
SELECT workspace_id, day, key_id, flow_id, cost_nano_usd FROM usage_daily
UNION ALL
SELECT workspace_id, day, key_id, flow_id, cost_nano_usd FROM usage_log WHERE hour = 0 AND cost_nano_usd <> 0;
