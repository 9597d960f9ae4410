-- +goose NO TRANSACTION
-- +goose Up

-- What has been spent and is not added to its day yet.
DROP INDEX CONCURRENTLY IF EXISTS usage_log_spent;
CREATE INDEX CONCURRENTLY usage_log_spent ON usage_log (workspace_id, day, key_id, flow_id) WHERE hour = 0 AND cost_nano_usd <> 0;
