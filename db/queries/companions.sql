-- Returns a companion, which it creates if it is missing, and locks its row.
-- name: LockCompanion :one
INSERT INTO companions (owner_id, name, workspace_id, rev, hash, applied_rev, source, changed_at)
VALUES (@owner_id, @name, @workspace_id, 0, '', 0, '', @changed_at)
ON CONFLICT (owner_id, name) DO UPDATE SET rev = companions.rev
RETURNING *;

-- name: FindCompanion :one
SELECT * FROM companions WHERE owner_id = @owner_id AND name = @name AND workspace_id = @workspace_id;

-- name: ListCompanions :many
SELECT * FROM companions WHERE workspace_id = @workspace_id AND rev > 0 ORDER BY owner_id, name;

-- name: UpdateCompanion :exec
UPDATE companions SET rev = @rev, hash = @hash, applied_rev = @applied_rev, source = @source, changed_at = @changed_at
WHERE owner_id = @owner_id AND name = @name;

-- name: InsertCompanionBody :exec
INSERT INTO companion_bodies (owner_id, name, rev, workspace_id, hash, body, made_by, created_at)
VALUES (@owner_id, @name, @rev, @workspace_id, @hash, @body, @made_by, @created_at);

-- name: PruneCompanionBodies :exec
DELETE FROM companion_bodies WHERE owner_id = @owner_id AND name = @name AND rev <= @rev;

-- name: FindCompanionBody :one
SELECT * FROM companion_bodies WHERE owner_id = @owner_id AND name = @name AND workspace_id = @workspace_id AND rev = @rev;

-- name: ListCompanionBodies :many
SELECT rev, hash, made_by, created_at FROM companion_bodies
WHERE owner_id = @owner_id AND name = @name AND workspace_id = @workspace_id ORDER BY rev DESC LIMIT @max_rows;
