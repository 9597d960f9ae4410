-- name: InsertInvite :exec
INSERT INTO invites (id, token_hash, workspace_id, email, role, user_id, created_by, created_at, expires_at)
VALUES (@id, @token_hash, @workspace_id, @email, @role, @user_id, @created_by, @created_at, @expires_at);

-- name: FindInvite :one
SELECT i.*, w.name AS workspace, CAST(COALESCE(u.name, '') AS TEXT) AS invited_by FROM invites i
JOIN workspaces w ON w.id = i.workspace_id
LEFT JOIN users u ON u.id = i.created_by
WHERE i.token_hash = @token_hash AND i.expires_at > @now;

-- name: ListInvites :many
SELECT i.*, w.name AS workspace, CAST(COALESCE(u.name, '') AS TEXT) AS invited_by FROM invites i
JOIN workspaces w ON w.id = i.workspace_id
LEFT JOIN users u ON u.id = i.created_by
WHERE i.workspace_id = @workspace_id AND i.user_id = '' AND i.expires_at > @now ORDER BY i.id DESC;

-- name: DeleteInvite :execrows
DELETE FROM invites WHERE workspace_id = @workspace_id AND id = @id;

-- name: TakeInvite :execrows
DELETE FROM invites WHERE id = @id;

-- name: DeletePasswordLinks :exec
DELETE FROM invites WHERE user_id = @user_id AND user_id <> '';

-- name: DeleteInvitesBy :exec
DELETE FROM invites WHERE workspace_id = @workspace_id AND created_by = @created_by;

-- name: DeletePasswordLinksBy :exec
DELETE FROM invites WHERE user_id <> '' AND created_by = @created_by
AND user_id IN (SELECT m.user_id FROM members m WHERE m.workspace_id = @workspace_id);

-- name: DropInvites :execrows
DELETE FROM invites WHERE expires_at <= @now;
