-- name: ClaimSlug :execrows
INSERT INTO slugs (workspace_id, slug, flow_id, created_at) VALUES (@workspace_id, @slug, @flow_id, @created_at)
ON CONFLICT (workspace_id, slug) DO NOTHING;

-- name: FindSlug :one
SELECT s.flow_id, CAST(CASE WHEN f.slug = s.slug THEN 1 ELSE 0 END AS BIGINT) AS current
FROM slugs s JOIN flows f ON f.id = s.flow_id
WHERE s.workspace_id = @workspace_id AND s.slug = @slug;

-- name: MoveSlug :execrows
UPDATE slugs SET flow_id = @flow_id, created_at = @created_at WHERE workspace_id = @workspace_id AND slug = @slug;

-- name: SetFlowSlug :execrows
UPDATE flows SET slug = @slug WHERE id = @id AND workspace_id = @workspace_id;

-- name: ListFlowsWithoutSlug :many
SELECT id, workspace_id, name FROM flows WHERE slug = '' ORDER BY id LIMIT @max_rows;

-- name: MarkApplied :execrows
UPDATE flows SET applied_rev = rev, applied_source = @source WHERE id = @id AND workspace_id = @workspace_id;
