-- name: MarkDamaged :exec
INSERT INTO damaged_rows (table_name, id, task, error, found_at) VALUES (@table_name, @id, @task, @error, @found_at)
ON CONFLICT (table_name, id) DO UPDATE SET task = excluded.task, error = excluded.error;

-- name: DropDamageMarks :exec
DELETE FROM damaged_rows WHERE found_at < @found_before;

-- name: ListDamaged :many
SELECT * FROM damaged_rows ORDER BY found_at DESC, table_name, id LIMIT @max_rows;

-- name: CountDamaged :one
SELECT count(*) FROM damaged_rows;
