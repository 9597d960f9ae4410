-- name: PinDocument :execrows
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
INSERT INTO versions (flow_id, number, workspace_id, document_hash, summary, created_by, created_at, reach)
VALUES (@flow_id, @number, @workspace_id, @document_hash, @summary, @created_by, @created_at, @reach);

-- name: SetVersionReach :exec
UPDATE versions SET reach = @reach WHERE flow_id = @flow_id AND number = @number AND workspace_id = @workspace_id;

-- name: ListLiveReach :many
SELECT f.id, f.slug, f.name, v.document_hash, v.reach
FROM flows f JOIN versions v ON v.flow_id = f.id AND v.number = f.live_version
WHERE f.workspace_id = @workspace_id AND f.archived_at = 0 AND v.reach <> ''
ORDER BY f.name, f.id;

-- name: SetLiveVersion :execrows
UPDATE flows SET live_version = @number, updated_at = @updated_at
WHERE id = @id AND workspace_id = @workspace_id;

-- name: ListCallers :many
SELECT u.key_id, k.name, k.prefix, CAST(sum(u.runs) AS BIGINT) AS runs, CAST(max(u.day) AS TEXT) AS last_day
FROM usage_all u JOIN keys k ON k.id = u.key_id AND k.workspace_id = u.workspace_id
WHERE u.workspace_id = @workspace_id AND u.day >= @from_day AND u.flow_id = @flow_id AND u.model = ''
    AND k.revoked_at = 0 AND (k.expires_at = 0 OR k.expires_at > @now)
GROUP BY u.key_id, k.name, k.prefix
HAVING sum(u.runs) > 0 -- child runs are counted with the key of their root, which does not call the flow itself
ORDER BY runs DESC, u.key_id;

-- name: SetVersionDocument :exec
UPDATE versions SET document_hash = @document_hash WHERE flow_id = @flow_id AND number = @number AND workspace_id = @workspace_id;
