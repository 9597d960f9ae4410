-- name: SetWake :exec
INSERT INTO wakes (run_id, workspace_id, wake_at) VALUES (@run_id, @workspace_id, @wake_at)
ON CONFLICT (run_id) DO UPDATE SET wake_at = excluded.wake_at;

-- name: ClearWake :exec
DELETE FROM wakes WHERE run_id = @run_id;

-- name: ListDueWakes :many
SELECT w.run_id FROM wakes w WHERE w.wake_at <= @now
    AND w.run_id NOT IN (SELECT m.id FROM damaged_rows m WHERE m.table_name = 'wakes')
    AND NOT EXISTS (SELECT 1 FROM damaged_rows r WHERE r.table_name = 'runs' AND r.id = w.run_id)
ORDER BY w.wake_at LIMIT @max_rows;

-- name: NextWake :one
SELECT w.wake_at FROM wakes w
WHERE w.run_id NOT IN (SELECT m.id FROM damaged_rows m WHERE m.table_name = 'wakes')
    AND NOT EXISTS (SELECT 1 FROM damaged_rows r WHERE r.table_name = 'runs' AND r.id = w.run_id)
ORDER BY w.wake_at LIMIT 1;
