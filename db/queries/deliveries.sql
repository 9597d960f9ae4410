-- name: InsertDelivery :exec
INSERT INTO deliveries (id, workspace_id, flow_id, run_id, node, endpoint_id, url, header, secret, signature, state, attempt, tries, fence,
    created_at, due_at, next_at, ended_at, erased, body)
VALUES (@id, @workspace_id, @flow_id, @run_id, @node, @endpoint_id, @url, @header, @secret, @signature, 'pending', 0, 0, @fence,
    @created_at, @due_at, @created_at, 0, '', @body);

-- name: FindDelivery :one
SELECT * FROM deliveries WHERE id = @id AND workspace_id = @workspace_id;

-- name: FindHeldDelivery :one
SELECT * FROM deliveries WHERE id = @id AND fence = @fence AND ended_at = 0;

-- name: ListDeliveries :many
SELECT * FROM deliveries
WHERE workspace_id = @workspace_id AND flow_id = @flow_id AND id < @before_id
ORDER BY id DESC LIMIT @max_rows;

-- name: ListDeliveriesOfRun :many
SELECT * FROM deliveries WHERE run_id = @run_id AND workspace_id = @workspace_id ORDER BY id;

-- name: FinishAttempt :one
UPDATE deliveries SET state = @state, attempt = attempt + 1, tries = tries + 1,
    due_at = @due_at, next_at = @next_at, ended_at = @ended_at
WHERE id = @id AND fence = @fence AND ended_at = 0
RETURNING tries, workspace_id, endpoint_id;

-- name: InsertAttempt :exec
INSERT INTO delivery_attempts (delivery_id, number, workspace_id, started_at, latency, status, cause, error, response, signature)
VALUES (@delivery_id, @number, @workspace_id, @started_at, @latency, @status, @cause, @error, @response, @signature);

-- name: ListAttempts :many
SELECT * FROM delivery_attempts WHERE delivery_id = @delivery_id ORDER BY number;

-- name: ListDueDeliveries :many
SELECT id FROM deliveries WHERE due_at > 0 AND due_at <= @now ORDER BY due_at LIMIT @max_rows;

-- name: NextDelivery :one
SELECT due_at FROM deliveries WHERE due_at > 0 ORDER BY due_at LIMIT 1;

-- name: HandDelivery :one
UPDATE deliveries SET due_at = 0, fence = fence + 1 WHERE id = @id AND ended_at = 0 AND due_at > 0
RETURNING fence;

-- name: RestartDelivery :one
UPDATE deliveries SET state = 'pending', attempt = 0, ended_at = 0,
    due_at = CASE WHEN ended_at = 0 AND due_at = 0 THEN 0 ELSE CAST(@now AS BIGINT) END,
    next_at = CASE WHEN ended_at = 0 AND due_at = 0 THEN next_at ELSE CAST(@now AS BIGINT) END,
    fence = CASE WHEN ended_at = 0 AND due_at = 0 THEN fence ELSE fence + 1 END
WHERE id = @id AND workspace_id = @workspace_id
RETURNING *;

-- name: ReleaseDelivery :execrows
UPDATE deliveries SET due_at = @now WHERE id = @id AND ended_at = 0 AND due_at = 0;

-- name: ReturnDelivery :exec
UPDATE deliveries SET due_at = @now WHERE id = @id AND fence = @fence AND ended_at = 0 AND due_at = 0;

-- name: ReleaseDeliveries :execrows
UPDATE deliveries SET due_at = CASE WHEN next_at > 0 THEN next_at ELSE @now END WHERE ended_at = 0 AND due_at = 0;

-- name: CountPendingOfRun :one
SELECT count(*) FROM deliveries WHERE run_id = @run_id AND ended_at = 0;

-- name: RestartFailed :execrows
UPDATE deliveries SET state = 'pending', attempt = 0, due_at = @now, next_at = @now, ended_at = 0, fence = fence + 1
WHERE id = @id AND state = 'failed' AND erased = '' AND ended_at <= @asked_at;

-- name: ListStaleTests :many
SELECT id FROM deliveries WHERE run_id = '' AND ended_at > 0 AND created_at < @stale_before LIMIT @max_rows;

-- name: DeleteAttempts :exec
DELETE FROM delivery_attempts WHERE delivery_id = @delivery_id;

-- name: DeleteDelivery :exec
DELETE FROM deliveries WHERE id = @id;
