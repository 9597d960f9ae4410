-- name: InsertAudit :exec
INSERT INTO audit (id, workspace_id, actor, action, target, detail, ip, created_at)
VALUES (@id, @workspace_id, @actor, @action, @target, @detail, @ip, @created_at);

-- name: ListAudit :many
SELECT a.*, CAST(COALESCE(u.name, '') AS TEXT) AS person FROM audit a
LEFT JOIN users u ON u.id = a.actor
WHERE a.workspace_id = @workspace_id AND a.id < @before_id ORDER BY a.id DESC LIMIT @max_rows;

-- name: ListAuditAfter :many
SELECT a.*, CAST(COALESCE(u.name, '') AS TEXT) AS person FROM audit a
LEFT JOIN users u ON u.id = a.actor
WHERE a.workspace_id = @workspace_id AND a.id > @after_id ORDER BY a.id LIMIT @max_rows;
