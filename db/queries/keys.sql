-- name: InsertKey :exec
INSERT INTO keys (id, workspace_id, name, prefix, hash, scopes, flows, rpm, concurrency, usd_per_day, runs_per_day, run_trigger, created_by,
    created_at, expires_at, revoked_at, last_used_at, last_used_ip, uses)
VALUES (@id, @workspace_id, @name, @prefix, @hash, @scopes, @flows, @rpm, @concurrency, @usd_per_day, @runs_per_day, @run_trigger, @created_by,
    @created_at, @expires_at, 0, 0, '', 0);

-- name: FindKeyByHash :one
SELECT * FROM keys WHERE hash = @hash;

-- name: FindKey :one
SELECT * FROM keys WHERE id = @id AND workspace_id = @workspace_id;

-- name: ListKeys :many
SELECT * FROM keys WHERE workspace_id = @workspace_id ORDER BY id;

-- name: RevokeKey :execrows
UPDATE keys SET revoked_at = CASE WHEN revoked_at = 0 THEN @revoked_at ELSE revoked_at END
WHERE id = @id AND workspace_id = @workspace_id;

-- name: TouchKey :exec
UPDATE keys SET uses = uses + @uses, last_used_at = @last_used_at, last_used_ip = @last_used_ip WHERE id = @id;
