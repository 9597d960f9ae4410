-- name: InsertMember :execrows
INSERT INTO members (workspace_id, user_id, role, created_at) VALUES (@workspace_id, @user_id, @role, @created_at)
ON CONFLICT (workspace_id, user_id) DO NOTHING;

-- name: FindMember :one
SELECT u.id, u.email, u.name, m.role, w.name AS workspace FROM members m
JOIN users u ON u.id = m.user_id
JOIN workspaces w ON w.id = m.workspace_id
WHERE m.workspace_id = @workspace_id AND m.user_id = @user_id;

-- name: ListMembers :many
SELECT u.id, u.email, u.name, m.role, m.created_at FROM members m
JOIN users u ON u.id = m.user_id
WHERE m.workspace_id = @workspace_id ORDER BY m.user_id;

-- name: ListMemberships :many
SELECT m.workspace_id, w.name AS workspace, m.role FROM members m
JOIN workspaces w ON w.id = m.workspace_id
WHERE m.user_id = @user_id ORDER BY m.workspace_id;

-- name: SetRole :execrows
UPDATE members SET role = @role WHERE workspace_id = @workspace_id AND user_id = @user_id;

-- name: DeleteMember :execrows
DELETE FROM members WHERE workspace_id = @workspace_id AND user_id = @user_id;

-- name: CountOwners :one
SELECT count(*) FROM members WHERE workspace_id = @workspace_id AND role = 'owner';
