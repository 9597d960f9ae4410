-- name: FindIdentity :one
SELECT u.* FROM identities i JOIN users u ON u.id = i.user_id WHERE i.issuer = @issuer AND i.subject = @subject;

-- name: SaveIdentity :execrows
INSERT INTO identities (issuer, subject, user_id, created_at, used_at) VALUES (@issuer, @subject, @user_id, @now, @now)
ON CONFLICT (issuer, subject) DO NOTHING;

-- name: TouchIdentity :exec
UPDATE identities SET used_at = @now WHERE issuer = @issuer AND subject = @subject;

-- FirstPasswordOwner returns the oldest user who has a password among the owners of a workspace.
-- name: FirstPasswordOwner :one
SELECT u.* FROM members m JOIN users u ON u.id = m.user_id
WHERE m.workspace_id = @workspace_id AND m.role = 'owner' AND u.password_hash <> '' ORDER BY m.user_id LIMIT 1;

-- name: FindSecondFactor :one
SELECT * FROM second_factors WHERE id = @id;

-- OfferSecondFactor stores a secret that the user has not confirmed. It keeps a confirmed one.
-- name: OfferSecondFactor :execrows
INSERT INTO second_factors (id, secret, last_step, recovery, created_at, confirmed_at) VALUES (@id, @secret, 0, '[]', @now, 0)
ON CONFLICT (id) DO UPDATE SET secret = excluded.secret, created_at = excluded.created_at WHERE second_factors.confirmed_at = 0;

-- name: ConfirmSecondFactor :execrows
UPDATE second_factors SET confirmed_at = @now, last_step = @last_step, recovery = @recovery WHERE id = @id AND confirmed_at = 0;

-- name: UseSecondFactor :execrows
UPDATE second_factors SET last_step = @last_step WHERE id = @id AND last_step < @last_step;

-- name: SetRecovery :execrows
UPDATE second_factors SET recovery = @recovery WHERE id = @id AND recovery = @was;

-- name: DeleteSecondFactor :execrows
DELETE FROM second_factors WHERE id = @id;
