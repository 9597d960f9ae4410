-- name: SetWake :exec
INSERT INTO wakes (run_id, workspace_id, wake_at) VALUES (@run_id, @workspace_id, @wake_at)
ON CONFLICT (run_id) DO UPDATE SET wake_at = excluded.wake_at;

-- name: ClearWake :exec
DELETE FROM wakes WHERE run_id = @run_id;

-- name: ListDueWakes :many
SELECT run_id FROM wakes WHERE wake_at <= @now ORDER BY wake_at LIMIT @max_rows;

-- name: NextWake :one
SELECT wake_at FROM wakes ORDER BY wake_at LIMIT 1;
