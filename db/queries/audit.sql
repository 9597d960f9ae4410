-- name: InsertAudit :exec
INSERT INTO audit (id, workspace_id, actor, action, target, detail, created_at)
VALUES (@id, @workspace_id, @actor, @action, @target, @detail, @created_at);

-- name: ListAudit :many
SELECT * FROM audit WHERE workspace_id = @workspace_id AND id < @before_id ORDER BY id DESC LIMIT @max_rows;
