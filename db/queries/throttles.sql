-- name: FindThrottle :one
SELECT * FROM throttles WHERE name = @name;

-- name: SaveThrottle :exec
INSERT INTO throttles (name, failures, failed_at, until_at) VALUES (@name, @failures, @failed_at, @until_at)
ON CONFLICT (name) DO UPDATE SET failures = excluded.failures, failed_at = excluded.failed_at, until_at = excluded.until_at;

-- name: DeleteThrottle :exec
DELETE FROM throttles WHERE name = @name;

-- name: DropThrottles :execrows
DELETE FROM throttles WHERE failed_at <= @stale_before;

-- name: HoldThrottle :exec
INSERT INTO throttles (name, failures, failed_at, until_at) VALUES (@name, 0, 0, 0)
ON CONFLICT (name) DO UPDATE SET name = excluded.name;
