-- name: AddFlowHour :exec
INSERT INTO flow_hours (workspace_id, flow_id, hour, bucket, succeeded, failed, canceled, cost_nano_usd)
VALUES (@workspace_id, @flow_id, @hour, @bucket, @succeeded, @failed, @canceled, @cost_nano_usd)
ON CONFLICT (workspace_id, flow_id, hour, bucket) DO UPDATE
SET succeeded = flow_hours.succeeded + excluded.succeeded, failed = flow_hours.failed + excluded.failed,
    canceled = flow_hours.canceled + excluded.canceled, cost_nano_usd = flow_hours.cost_nano_usd + excluded.cost_nano_usd;

-- name: ListFlowHours :many
SELECT hour, bucket, succeeded, failed, canceled, cost_nano_usd FROM hours_all
WHERE workspace_id = @workspace_id AND flow_id = @flow_id AND hour > @after_hour AND hour <= @until_hour;

-- name: DropFlowHours :exec
DELETE FROM flow_hours WHERE hour < @stale_before;
