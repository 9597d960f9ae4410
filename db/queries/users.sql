-- name: InsertUser :exec
INSERT INTO users (id, email, name, password_hash, created_at) VALUES (@id, @email, @name, @password_hash, @created_at);

-- name: FindUserByEmail :one
SELECT * FROM users WHERE email = @email;

-- name: SetEmail :execrows
UPDATE users SET email = @email WHERE id = @id;

-- Whether a workspace of a user has anything but the flow that it began with.
-- name: HasContent :one
SELECT count(*) FROM members m WHERE m.user_id = @user_id AND (
    (SELECT r.id FROM runs r WHERE r.workspace_id = m.workspace_id AND r.place = 0 LIMIT 1) > ''
    OR EXISTS (SELECT 1 FROM flows e WHERE e.workspace_id = m.workspace_id AND e.rev > 1)
    OR EXISTS (SELECT 1 FROM keys k WHERE k.workspace_id = m.workspace_id)
    OR EXISTS (SELECT 1 FROM credentials c WHERE c.workspace_id = m.workspace_id)
    OR EXISTS (SELECT 1 FROM members o WHERE o.workspace_id = m.workspace_id AND o.user_id <> m.user_id)
    OR (SELECT count(*) FROM flows f WHERE f.workspace_id = m.workspace_id) > 1);

-- name: FindUser :one
SELECT * FROM users WHERE id = @id;

-- name: FirstUser :one
SELECT id FROM users ORDER BY id LIMIT 1;

-- name: SetPassword :execrows
UPDATE users SET password_hash = @password_hash WHERE id = @id;
