-- name: InsertFlow :exec
INSERT INTO flows (id, workspace_id, name, description, tags, draft, rev, live_version, max_running, max_queued,
    runs_per_day, usd_per_day, allow_unpriced, signing, created_at, updated_at, archived_at, slug)
VALUES (@id, @workspace_id, @name, @description, @tags, @draft, @rev, 0, @max_running, @max_queued,
    @runs_per_day, @usd_per_day, @allow_unpriced, @signing, @created_at, @created_at, 0, @slug);

-- name: UpdateDraft :one
UPDATE flows SET name = @name, description = @description, draft = @draft, rev = rev + 1, updated_at = @updated_at
WHERE id = @id AND workspace_id = @workspace_id
RETURNING rev;

-- name: EditDraft :execrows
UPDATE flows SET name = @name, description = @description, draft = @draft, rev = rev + 1, updated_at = @updated_at
WHERE id = @id AND workspace_id = @workspace_id AND rev = @base;

-- name: SetFlowLimits :execrows
UPDATE flows SET max_running = @max_running, max_queued = @max_queued, runs_per_day = @runs_per_day, usd_per_day = @usd_per_day, allow_unpriced = @allow_unpriced,
    updated_at = @updated_at
WHERE id = @id AND workspace_id = @workspace_id;

-- name: ArchiveFlow :execrows
UPDATE flows SET archived_at = @archived_at, updated_at = @archived_at
WHERE id = @id AND workspace_id = @workspace_id;

-- name: FindFlow :one
SELECT f.id, f.workspace_id, f.name, f.description, f.tags, f.draft, f.rev, f.live_version, f.max_running, f.max_queued,
    f.runs_per_day, f.usd_per_day, f.allow_unpriced, f.created_at, f.updated_at, f.archived_at, f.slug, f.applied_rev, f.applied_source, COALESCE(v.document_hash, '') AS live_hash
FROM flows f LEFT JOIN versions v ON v.flow_id = f.id AND v.number = f.live_version
WHERE f.id = @id AND f.workspace_id = @workspace_id;

-- name: ListFlows :many
SELECT f.id, f.workspace_id, f.name, f.description, f.tags, f.draft, f.rev, f.live_version, f.max_running, f.max_queued,
    f.runs_per_day, f.usd_per_day, f.allow_unpriced, f.created_at, f.updated_at, f.archived_at, f.slug, f.applied_rev, f.applied_source, COALESCE(v.document_hash, '') AS live_hash
FROM flows f LEFT JOIN versions v ON v.flow_id = f.id AND v.number = f.live_version
WHERE f.workspace_id = @workspace_id AND f.id > @after_id AND f.archived_at = 0
ORDER BY f.id LIMIT @max_rows;

-- name: ListFlowHeads :many
SELECT f.id, f.workspace_id, f.name, f.description, f.tags, CAST('' AS TEXT) AS draft, f.rev, f.live_version, f.max_running, f.max_queued,
    f.runs_per_day, f.usd_per_day, f.allow_unpriced, f.created_at, f.updated_at, f.archived_at, f.slug, f.applied_rev, f.applied_source, COALESCE(v.document_hash, '') AS live_hash
FROM flows f LEFT JOIN versions v ON v.flow_id = f.id AND v.number = f.live_version
WHERE f.workspace_id = @workspace_id AND f.id > @after_id AND f.knowledge_id = ''
ORDER BY f.id LIMIT @max_rows;

-- name: ListFlowRevisions :many
SELECT f.id, f.name, f.rev, COALESCE(v.document_hash, '') AS live_hash
FROM flows f LEFT JOIN versions v ON v.flow_id = f.id AND v.number = f.live_version
WHERE f.workspace_id = @workspace_id AND f.id > @after_id AND f.archived_at = 0
ORDER BY f.id LIMIT @max_rows;

-- name: TagFlow :execrows
UPDATE flows SET tags = @tags WHERE id = @id AND workspace_id = @workspace_id;

-- name: RestoreFlow :execrows
UPDATE flows SET archived_at = 0, updated_at = @updated_at WHERE id = @id AND workspace_id = @workspace_id AND knowledge_id = '';

-- name: FindSigning :one
SELECT signing, signing_before FROM flows WHERE id = @id AND workspace_id = @workspace_id;

-- name: ReplaceSigning :execrows
UPDATE flows SET signing = @signing, signing_before = @signing_before
WHERE id = @id AND workspace_id = @workspace_id AND signing = @signing_was;

-- name: EndSigning :execrows
UPDATE flows SET signing_before = @none WHERE id = @id AND workspace_id = @workspace_id;

-- name: FindFlowLimits :one
SELECT f.max_running, f.max_queued, f.runs_per_day, f.usd_per_day, f.allow_unpriced, w.max_running AS all_running, w.max_queued AS all_queued,
    w.quota_bytes, w.quota_flows, w.quota_runs, f.live_version, f.archived_at, f.slug
FROM flows f JOIN workspaces w ON w.id = f.workspace_id
WHERE f.id = @id AND f.workspace_id = @workspace_id;

-- name: FindLiveVersion :one
SELECT v.number, v.document_hash, f.slug FROM flows f JOIN versions v ON v.flow_id = f.id AND v.number = f.live_version
WHERE f.id = @id AND f.workspace_id = @workspace_id AND f.archived_at = 0;

-- name: AnyFlow :one
SELECT id FROM flows WHERE workspace_id = @workspace_id AND knowledge_id = '' LIMIT 1;
