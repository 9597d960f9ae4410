-- name: FindWebhookSecret :one
SELECT * FROM webhook_secrets WHERE workspace_id = @workspace_id AND flow_id = @flow_id AND node = @node AND host = @host;

-- name: GetWebhookSecret :one
SELECT * FROM webhook_secrets WHERE id = @id AND workspace_id = @workspace_id;

-- name: InsertWebhookSecret :exec
INSERT INTO webhook_secrets (id, workspace_id, flow_id, node, host, inherits, signing, signing_before, created_at)
VALUES (@id, @workspace_id, @flow_id, @node, @host, @inherits, @signing, @signing_before, @created_at)
ON CONFLICT (workspace_id, flow_id, node, host) DO NOTHING;

-- name: ReplaceWebhookSecret :execrows
UPDATE webhook_secrets SET inherits = 0, signing = @signing, signing_before = @signing_before
WHERE id = @id AND inherits = @inherited AND signing = @signing_was;

-- name: EndWebhookSecret :exec
UPDATE webhook_secrets SET signing_before = @none WHERE id = @id;

-- name: FindKeySecret :one
SELECT webhook_secret FROM keys WHERE id = @id AND workspace_id = @workspace_id;

-- name: SaveKeySecret :exec
UPDATE keys SET webhook_secret = @webhook_secret WHERE id = @id AND workspace_id = @workspace_id AND length(webhook_secret) = 0;
