-- name: ClaimIdempotency :execrows
INSERT INTO idempotency (workspace_id, name, fingerprint, run_id, created_at, expires_at)
VALUES (@workspace_id, @name, @fingerprint, @run_id, @created_at, @expires_at)
ON CONFLICT (workspace_id, name) DO UPDATE
SET fingerprint = excluded.fingerprint, run_id = excluded.run_id, created_at = excluded.created_at, expires_at = excluded.expires_at
WHERE idempotency.created_at <= @stale_before AND idempotency.expires_at <= excluded.created_at;

-- name: FindIdempotency :one
SELECT * FROM idempotency WHERE workspace_id = @workspace_id AND name = @name;

-- name: DropIdempotency :execrows
DELETE FROM idempotency WHERE (workspace_id, name) IN (
    SELECT i.workspace_id, i.name FROM idempotency i WHERE i.expires_at > 0 AND i.expires_at <= @now ORDER BY i.expires_at LIMIT @max_rows);

-- Rows of earlier releases.
-- name: DropOldIdempotency :execrows
DELETE FROM idempotency WHERE (workspace_id, name) IN (
    SELECT i.workspace_id, i.name FROM idempotency i WHERE i.expires_at = 0 AND i.created_at <= @stale_before ORDER BY i.created_at LIMIT @max_rows);
