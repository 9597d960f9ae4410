-- name: InsertUser :exec
INSERT INTO users (id, email, password_hash, created_at) VALUES (@id, @email, @password_hash, @created_at);

-- name: InsertMember :exec
INSERT INTO members (workspace_id, user_id, role, created_at) VALUES (@workspace_id, @user_id, @role, @created_at);

-- name: FindUserByEmail :one
SELECT u.id, u.email, u.password_hash, u.created_at, m.role FROM users u
JOIN members m ON m.user_id = u.id AND m.workspace_id = @workspace_id
WHERE u.email = @email;

-- name: FindUser :one
SELECT u.id, u.email, u.password_hash, u.created_at, m.role FROM users u
JOIN members m ON m.user_id = u.id AND m.workspace_id = @workspace_id
WHERE u.id = @id;

-- name: ListUsers :many
SELECT u.id, u.email, u.password_hash, u.created_at, m.role FROM users u
JOIN members m ON m.user_id = u.id AND m.workspace_id = @workspace_id
ORDER BY u.id;

-- name: SetPassword :execrows
UPDATE users SET password_hash = @password_hash WHERE id = @id;

-- name: CountUsers :one
SELECT count(*) FROM users;

-- name: SaveSession :exec
INSERT INTO sessions (token_hash, user_id, data, expires_at) VALUES (@token_hash, @user_id, @data, @expires_at)
ON CONFLICT (token_hash) DO UPDATE SET user_id = excluded.user_id, data = excluded.data, expires_at = excluded.expires_at;

-- name: FindSession :one
SELECT data FROM sessions WHERE token_hash = @token_hash AND expires_at > @now;

-- name: DeleteSession :exec
DELETE FROM sessions WHERE token_hash = @token_hash;

-- name: DropSessions :execrows
DELETE FROM sessions WHERE expires_at <= @now;
