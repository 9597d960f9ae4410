-- name: PinDocument :exec
INSERT INTO documents (workspace_id, hash, body) VALUES (@workspace_id, @hash, @body)
ON CONFLICT (workspace_id, hash) DO NOTHING;

-- name: FindDocument :one
SELECT body FROM documents WHERE workspace_id = @workspace_id AND hash = @hash;

-- name: FindVersion :one
SELECT * FROM versions WHERE flow_id = @flow_id AND number = @number AND workspace_id = @workspace_id;

-- name: ListVersions :many
SELECT * FROM versions WHERE flow_id = @flow_id AND workspace_id = @workspace_id ORDER BY number DESC;

-- name: LatestVersion :one
SELECT * FROM versions WHERE flow_id = @flow_id AND workspace_id = @workspace_id ORDER BY number DESC LIMIT 1;

-- name: InsertVersion :exec
INSERT INTO versions (flow_id, number, workspace_id, document_hash, summary, created_by, created_at)
VALUES (@flow_id, @number, @workspace_id, @document_hash, @summary, @created_by, @created_at);

-- name: SetLiveVersion :execrows
UPDATE flows SET live_version = @number, updated_at = @updated_at
WHERE id = @id AND workspace_id = @workspace_id;
