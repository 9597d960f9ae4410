-- name: SaveSession :exec
INSERT INTO sessions (token_hash, id, user_id, ip, agent, signed_in_at, seen_at, expires_at, data)
VALUES (@token_hash, @id, @user_id, @ip, @agent, @signed_in_at, @seen_at, @expires_at, @data)
ON CONFLICT (token_hash) DO UPDATE
SET user_id = excluded.user_id, seen_at = excluded.seen_at, expires_at = excluded.expires_at, data = excluded.data;

-- name: KeepSession :exec
UPDATE sessions SET user_id = @user_id, seen_at = @seen_at, expires_at = @expires_at, data = @data WHERE token_hash = @token_hash;

-- name: FindSession :one
SELECT * FROM sessions WHERE token_hash = @token_hash AND expires_at > @now;

-- name: TouchSession :exec
UPDATE sessions SET seen_at = @seen_at, expires_at = @expires_at, ip = @ip WHERE token_hash = @token_hash;

-- name: ListSessions :many
SELECT * FROM sessions WHERE user_id = @user_id AND expires_at > @now ORDER BY id DESC;

-- name: DeleteSession :exec
DELETE FROM sessions WHERE token_hash = @token_hash;

-- name: EndSession :execrows
DELETE FROM sessions WHERE user_id = @user_id AND id = @id;

-- name: EndSessions :execrows
DELETE FROM sessions WHERE user_id = @user_id AND id <> @except_id;

-- name: DropSessions :execrows
DELETE FROM sessions WHERE expires_at <= @now;
