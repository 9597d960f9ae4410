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

-- name: ReleaseAlias :execrows
DELETE FROM slugs WHERE slugs.workspace_id = @workspace_id AND slugs.slug = @slug AND slugs.flow_id = @flow_id
    AND NOT EXISTS (SELECT 1 FROM flows f WHERE f.id = slugs.flow_id AND f.slug = slugs.slug);

-- name: AddAliasUse :exec
INSERT INTO alias_uses (workspace_id, slug, key_id, day, calls) VALUES (@workspace_id, @slug, @key_id, @day, @calls)
ON CONFLICT (workspace_id, slug, day, key_id) DO UPDATE SET calls = alias_uses.calls + excluded.calls;

-- name: ListAliasCallers :many
SELECT u.key_id, k.name, k.prefix, CAST(sum(u.calls) AS BIGINT) AS calls, CAST(max(u.day) AS TEXT) AS last_day
FROM alias_uses u JOIN keys k ON k.id = u.key_id AND k.workspace_id = u.workspace_id
WHERE u.workspace_id = @workspace_id AND u.slug = @slug AND u.day >= @from_day
    AND k.revoked_at = 0 AND (k.expires_at = 0 OR k.expires_at > @now)
GROUP BY u.key_id, k.name, k.prefix
ORDER BY calls DESC, u.key_id;

-- name: DropAliasUses :exec
DELETE FROM alias_uses WHERE day < @before_day;
