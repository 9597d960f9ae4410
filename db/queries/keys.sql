-- name: InsertKey :execrows
INSERT INTO keys (id, workspace_id, name, prefix, hash, scopes, flows, rpm, concurrency, usd_per_day, runs_per_day, allow_unpriced, run_trigger, created_by,
    created_at, expires_at, revoked_at, last_used_at, last_used_ip, uses, webhook_secret)
VALUES (@id, @workspace_id, @name, @prefix, @hash, @scopes, @flows, @rpm, @concurrency, @usd_per_day, @runs_per_day, @allow_unpriced, @run_trigger, @created_by,
    @created_at, @expires_at, 0, 0, '', 0, @webhook_secret)
ON CONFLICT (id) DO NOTHING;

-- name: FindKeyByHash :one
SELECT * FROM keys WHERE hash = @hash;

-- name: FindKeyByPreviousHash :one
SELECT * FROM keys WHERE previous_hash = @hash;

-- name: FindKey :one
SELECT * FROM keys WHERE id = @id AND workspace_id = @workspace_id;

-- name: ListKeys :many
SELECT * FROM keys WHERE workspace_id = @workspace_id ORDER BY id;

-- Newest first.
-- name: ListKeysBefore :many
SELECT * FROM keys WHERE workspace_id = @workspace_id AND id < @before_id ORDER BY id DESC LIMIT @max_rows;

-- Locks a key that makes another, so that it cannot be revoked meanwhile.
-- name: HoldKey :execrows
UPDATE keys SET revoked_at = 0 WHERE id = @id AND workspace_id = @workspace_id AND revoked_at = 0;

-- The keys that may know the secret of a key because they made or rotated it.
-- name: FindKeyHolders :one
SELECT created_by, rotated_by FROM keys WHERE id = @id AND workspace_id = @workspace_id;

-- A key and the keys that it made, directly or through others.
-- name: ListKeyTree :many
WITH RECURSIVE tree(id) AS (
    SELECT k.id FROM keys k WHERE k.id = @key_id AND k.workspace_id = @workspace_id
    UNION SELECT m.id FROM tree JOIN keys m ON m.workspace_id = @workspace_id AND m.created_by = tree.id)
SELECT tree.id FROM tree;

-- name: RevokeKey :execrows
UPDATE keys SET revoked_at = CASE WHEN revoked_at = 0 THEN @revoked_at ELSE revoked_at END
WHERE id = @id AND workspace_id = @workspace_id;

-- name: ListKeysBy :many
SELECT * FROM keys WHERE workspace_id = @workspace_id AND created_by = @created_by AND revoked_at = 0 ORDER BY id;

-- name: ListKeysMadeBy :many
SELECT * FROM keys WHERE workspace_id = @workspace_id AND created_by = @maker ORDER BY id;

-- name: CountKeysBy :one
SELECT count(*) FROM keys WHERE workspace_id = @workspace_id AND created_by = @created_by AND revoked_at = 0;

-- name: HandOverKey :exec
UPDATE keys SET created_by = @created_by WHERE id = @id AND workspace_id = @workspace_id;

-- name: UpdateKey :execrows
UPDATE keys SET name = @name, flows = @flows, rpm = @rpm, concurrency = @concurrency, usd_per_day = @usd_per_day,
    runs_per_day = @runs_per_day, allow_unpriced = @allow_unpriced, expires_at = @expires_at
WHERE id = @id AND workspace_id = @workspace_id AND revoked_at = 0;

-- name: RotateKey :execrows
UPDATE keys SET previous_prefix = prefix, previous_hash = hash, previous_until = @previous_until, previous_used_at = 0,
    previous_used_ip = '', previous_uses = 0, prefix = @new_prefix, hash = @new_hash, rolled_at = @rolled_at, expires_at = @expires_at, rotated_by = @rotated_by
WHERE id = @id AND workspace_id = @workspace_id AND revoked_at = 0 AND prefix = @old_prefix;

-- name: RevokePreviousSecret :execrows
UPDATE keys SET previous_until = CASE WHEN previous_until > @ended_at THEN @ended_at ELSE previous_until END
WHERE id = @id AND workspace_id = @workspace_id AND previous_hash > '';

-- name: TouchKey :exec
UPDATE keys SET uses = uses + @uses, last_used_at = @last_used_at, last_used_ip = @last_used_ip WHERE id = @id;

-- name: TouchPreviousKeyText :exec
UPDATE keys SET previous_uses = previous_uses + @uses, previous_used_at = @used_at, previous_used_ip = @used_ip
WHERE id = @id AND previous_hash = @hash;

-- name: ListKeysEnding :many
SELECT * FROM keys WHERE expires_at > @after AND expires_at <= @until AND revoked_at = 0 ORDER BY expires_at;

-- name: ListKeyMakers :many
SELECT u.id, u.name, COALESCE(m.user_id, '') <> '' AS member FROM users u
LEFT JOIN members m ON m.user_id = u.id AND m.workspace_id = @workspace_id
WHERE u.id IN (SELECT k.created_by FROM keys k WHERE k.workspace_id = @workspace_id);
