-- name: InsertUser :exec
INSERT INTO users (id, email, name, password_hash, created_at) VALUES (@id, @email, @name, @password_hash, @created_at);

-- name: FindUserByEmail :one
SELECT * FROM users WHERE email = @email;

-- name: FindUser :one
SELECT * FROM users WHERE id = @id;

-- name: FirstUser :one
SELECT id FROM users ORDER BY id LIMIT 1;

-- name: SetPassword :execrows
UPDATE users SET password_hash = @password_hash WHERE id = @id;
