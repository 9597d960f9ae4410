-- name: SaveCredential :exec
INSERT INTO credentials (id, workspace_id, name, provider, base_url, trusted, hosts, value, signing_before, bound_at, created_at, updated_at)
VALUES (@id, @workspace_id, @name, @provider, @base_url, @trusted, @hosts, @value, @signing_before, @now, @now, @now)
ON CONFLICT (workspace_id, name) DO UPDATE
SET provider = excluded.provider, base_url = excluded.base_url, trusted = excluded.trusted, hosts = excluded.hosts, value = excluded.value, signing_before = excluded.signing_before, bound_at = excluded.bound_at, updated_at = excluded.updated_at;

-- name: FindCredential :one
SELECT * FROM credentials WHERE workspace_id = @workspace_id AND name = @name;

-- name: ListCredentials :many
SELECT * FROM credentials WHERE workspace_id = @workspace_id ORDER BY name;

-- name: DeleteCredential :execrows
DELETE FROM credentials WHERE workspace_id = @workspace_id AND name = @name;

-- name: SetCredentialHosts :execrows
UPDATE credentials SET hosts = @hosts, bound_at = @now, updated_at = @now WHERE workspace_id = @workspace_id AND name = @name;

-- name: BindCredential :exec
UPDATE credentials SET hosts = @hosts, bound_at = @now WHERE workspace_id = @workspace_id AND name = @name AND bound_at = 0;

-- name: ListUndecidedCredentials :many
SELECT * FROM credentials WHERE bound_at = 0 ORDER BY workspace_id, name;

-- name: ListAllCredentials :many
SELECT * FROM credentials ORDER BY workspace_id, name;

-- name: ListWorkspaceIDs :many
SELECT id FROM workspaces ORDER BY id;

-- name: LockCredential :execrows
UPDATE credentials SET value = value WHERE workspace_id = @workspace_id AND name = @name;

-- name: SetCredentialSecret :execrows
UPDATE credentials SET value = @value WHERE workspace_id = @workspace_id AND name = @name;
