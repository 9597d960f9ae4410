-- name: InsertDelivery :execrows
INSERT INTO deliveries (id, position, workspace_id, flow_id, run_id, node, endpoint_id, url, header, secret, signature, signer, state, place, attempt,
    tries, fence, created_at, due_at, next_at, ended_at, erased, body)
VALUES (@id, @position, @workspace_id, @flow_id, @run_id, @node, @endpoint_id, @url, @header, @secret, @signature, @signer, 'pending', 1, 0,
    0, 0, @created_at, 0, @created_at, 0, '', @body)
ON CONFLICT (id) DO NOTHING;

-- name: FindDelivery :one
SELECT * FROM deliveries WHERE id = @id AND workspace_id = @workspace_id;

-- A delivery belongs to a worker or a job if it has not ended and is neither
-- queued nor due later. The place column alone is not enough: during an upgrade an
-- instance of version 0.1.0 may still run, and it does not write that column.
-- name: FindHeldDelivery :one
SELECT sqlc.embed(deliveries), CAST(COALESCE((SELECT r.traceparent FROM runs r WHERE r.id = deliveries.run_id), '') AS TEXT) AS traceparent
FROM deliveries
WHERE deliveries.id = @id AND deliveries.fence = @fence AND deliveries.place <> 1 AND deliveries.ended_at = 0 AND deliveries.due_at = 0;

-- name: ListDeliveries :many
SELECT * FROM deliveries
WHERE workspace_id = @workspace_id AND flow_id = @flow_id AND position < @before
ORDER BY position DESC LIMIT @max_rows;

-- name: ListDeliveriesOfRun :many
SELECT * FROM deliveries WHERE run_id = @run_id AND workspace_id = @workspace_id ORDER BY position;

-- name: FinishAttempt :one
UPDATE deliveries SET state = @state, attempt = attempt + 1, tries = tries + 1,
    place = @place, due_at = @due_at, next_at = @next_at, ended_at = @ended_at
WHERE id = @id AND fence = @fence AND place <> 1 AND ended_at = 0 AND due_at = 0
RETURNING tries, workspace_id, endpoint_id;

-- name: InsertAttempt :exec
INSERT INTO delivery_attempts (delivery_id, number, workspace_id, started_at, latency, status, cause, error, response, signature)
VALUES (@delivery_id, @number, @workspace_id, @started_at, @latency, @status, @cause, @error, @response, @signature);

-- name: ListAttempts :many
SELECT * FROM delivery_attempts WHERE delivery_id = @delivery_id ORDER BY number;

-- name: QueueDue :execrows
UPDATE deliveries SET place = 1, due_at = 0 WHERE id IN (
    SELECT d.id FROM deliveries d WHERE d.due_at > 0 AND d.due_at <= @now
        AND d.id NOT IN (SELECT m.id FROM damaged_rows m WHERE m.table_name = 'deliveries')
    ORDER BY d.due_at LIMIT @max_rows);

-- name: NextDelivery :one
SELECT d.due_at FROM deliveries d WHERE d.due_at > 0
    AND d.id NOT IN (SELECT m.id FROM damaged_rows m WHERE m.table_name = 'deliveries')
ORDER BY d.due_at LIMIT 1;

-- name: NextDeliveryWorkspace :one
SELECT workspace_id FROM deliveries WHERE place = 1 AND place > 0 AND workspace_id > @after ORDER BY workspace_id LIMIT 1;

-- name: ListEndpointsInFlight :many
SELECT d.workspace_id, d.endpoint_id, count(*) AS attempts, CAST(max(e.failures) AS BIGINT) AS failures, CAST(max(e.proven) AS BIGINT) AS proven,
    CAST(max(e.slow) AS BIGINT) AS slow, CAST(max(e.paused_until) AS BIGINT) AS paused_until,
    CAST(max(CASE WHEN e.hostname = '' THEN e.host ELSE e.hostname END) AS TEXT) AS host
FROM deliveries d JOIN endpoints e ON e.id = d.endpoint_id
WHERE d.place = 2 AND d.place > 0 AND d.ended_at = 0 AND d.due_at = 0
    AND d.id NOT IN (SELECT m.id FROM damaged_rows m WHERE m.table_name = 'deliveries')
GROUP BY d.workspace_id, d.endpoint_id;

-- A message that was tried before waits behind those that were not.
-- name: HandDeliveries :many
UPDATE deliveries SET place = 2, fence = fence + 1 WHERE place = 1 AND id IN (
    SELECT d.id FROM deliveries d WHERE d.place = 1 AND d.place > 0 AND d.workspace_id = @workspace_id AND d.endpoint_id = @endpoint_id
        AND d.id NOT IN (SELECT m.id FROM damaged_rows m WHERE m.table_name = 'deliveries')
    ORDER BY d.attempt, d.position LIMIT @max_rows)
RETURNING id, fence;

-- name: RestartDelivery :one
UPDATE deliveries SET state = 'pending', attempt = 0, ended_at = 0, due_at = 0,
    next_at = CASE WHEN place <> 1 AND ended_at = 0 AND due_at = 0 THEN next_at ELSE CAST(@now AS BIGINT) END,
    place = CASE WHEN place <> 1 AND ended_at = 0 AND due_at = 0 THEN place ELSE 1 END
WHERE id = @id AND workspace_id = @workspace_id
RETURNING *;

-- name: ReleaseDelivery :execrows
UPDATE deliveries SET place = 1, next_at = @now WHERE id = @id AND place <> 1 AND ended_at = 0 AND due_at = 0;

-- name: ReturnDelivery :exec
UPDATE deliveries SET place = 1, next_at = @now WHERE id = @id AND fence = @fence AND place <> 1 AND ended_at = 0 AND due_at = 0;

-- name: ReleaseDeliveries :execrows
UPDATE deliveries SET place = 1, next_at = CASE WHEN next_at > 0 THEN next_at ELSE @now END WHERE place = 2 AND place > 0 AND id IN (
    SELECT d.id FROM deliveries d WHERE d.place = 2 AND d.place > 0
        AND d.id NOT IN (SELECT m.id FROM damaged_rows m WHERE m.table_name = 'deliveries'));

-- name: RestartFailed :execrows
UPDATE deliveries SET state = 'pending', place = 1, attempt = 0, due_at = 0, next_at = @now, ended_at = 0
WHERE id = @id AND state = 'failed' AND erased = '' AND ended_at <= @asked_at;

-- name: ListStaleTests :many
SELECT d.id FROM deliveries d WHERE d.run_id = '' AND d.ended_at > 0 AND d.created_at < @stale_before
    AND d.id NOT IN (SELECT m.id FROM damaged_rows m WHERE m.table_name = 'deliveries')
LIMIT @max_rows;

-- name: DeleteAttempts :exec
DELETE FROM delivery_attempts WHERE delivery_id = @delivery_id;

-- name: DeleteDelivery :one
DELETE FROM deliveries WHERE id = @id
RETURNING workspace_id, CAST(octet_length(body) AS BIGINT) AS bytes;
