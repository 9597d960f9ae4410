-- name: EraseRun :exec
UPDATE runs SET erased = @erased, error = @error, webhook = @webhook, secrets = @secrets, gist = '', metadata = '', inputs = '', outputs = ''
WHERE id = @id AND place = 0;

-- A child run is erased after its caller.
-- name: ListExpired :many
SELECT r.id, r.workspace_id, r.error FROM runs r
WHERE r.expires_at > 0 AND r.erased = '' AND r.expires_at <= @now
    AND r.id NOT IN (SELECT m.id FROM damaged_rows m WHERE m.table_name = 'runs')
    AND NOT EXISTS (SELECT 1 FROM runs c WHERE c.id = r.caller_run_id AND c.erased = '')
    AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.run_id = r.id AND d.ended_at = 0)
ORDER BY r.expires_at LIMIT @max_rows;

-- Visitors of forms still look at the result for a while.
-- name: ListUnsaved :many
SELECT r.id, r.workspace_id, r.error FROM runs r
WHERE r.save = 0 AND r.place = 0 AND r.erased = '' AND (r.run_trigger <> 'form' OR r.ended_at <= @forms_ended)
    AND r.id NOT IN (SELECT m.id FROM damaged_rows m WHERE m.table_name = 'runs')
    AND NOT EXISTS (SELECT 1 FROM runs c WHERE c.id = r.caller_run_id AND c.erased = '')
    AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.run_id = r.id AND d.ended_at = 0)
ORDER BY r.id LIMIT @max_rows;

-- name: ListTombstones :many
SELECT r.id FROM runs r WHERE r.erased <> '' AND r.ended_at < @older_than
    AND r.id NOT IN (SELECT m.id FROM damaged_rows m WHERE m.table_name = 'runs')
ORDER BY r.ended_at LIMIT @max_rows;

-- name: DeleteRun :exec
DELETE FROM runs WHERE id = @id;

-- name: DeleteAttemptsOfRun :exec
DELETE FROM delivery_attempts WHERE delivery_id IN (SELECT d.id FROM deliveries d WHERE d.run_id = @run_id);

-- name: DeleteDeliveriesOfRun :exec
DELETE FROM deliveries WHERE run_id = @run_id;

-- name: DeletePendingAttempts :exec
DELETE FROM delivery_attempts
WHERE delivery_id IN (SELECT d.id FROM deliveries d WHERE d.run_id = @run_id AND d.ended_at = 0);

-- name: DeletePendingDeliveries :exec
DELETE FROM deliveries WHERE run_id = @run_id AND ended_at = 0;

-- name: EraseAttempts :exec
UPDATE delivery_attempts SET response = ''
WHERE delivery_id IN (SELECT d.id FROM deliveries d WHERE d.run_id = @run_id);

-- name: EraseDeliveries :exec
UPDATE deliveries SET erased = @erased, body = '', secret = @sealed, signature = @sealed WHERE run_id = @run_id;
