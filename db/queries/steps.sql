-- name: ListSteps :many
SELECT * FROM steps WHERE run_id = @run_id AND workspace_id = @workspace_id;

-- name: DeleteSteps :exec
DELETE FROM steps WHERE run_id = @run_id;

-- name: CancelOpenSteps :exec
UPDATE steps SET state = 'canceled', ended_at = @ended_at, wait_until = 0, saved = ''
WHERE run_id = @run_id AND state IN ('running', 'retrying', 'waiting');
