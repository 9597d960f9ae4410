-- name: FindEndpoint :one
SELECT id FROM endpoints WHERE workspace_id = @workspace_id AND flow_id = @flow_id AND node = @node AND host = @host;

-- name: InsertEndpoint :exec
INSERT INTO endpoints (id, workspace_id, flow_id, node, host, failing_since, created_at)
VALUES (@id, @workspace_id, @flow_id, @node, @host, 0, @created_at)
ON CONFLICT (workspace_id, flow_id, node, host) DO NOTHING;

-- name: EndpointFails :exec
UPDATE endpoints SET failing_since = CASE WHEN failing_since = 0 THEN @at ELSE failing_since END, failures = failures + 1, paused_until = @paused_until
WHERE id = @id;

-- name: EndpointWorks :exec
UPDATE endpoints SET failing_since = 0, failures = 0, paused_until = 0, proven = 1, slow = @slow
WHERE id = @id AND (failures > 0 OR failing_since > 0 OR proven = 0 OR slow <> @slow);

-- name: ResumeEndpoint :exec
UPDATE endpoints SET paused_until = 0 WHERE id = @id AND paused_until > 0;

-- name: EndpointFailures :one
SELECT failures FROM endpoints WHERE id = @id;

-- name: GetEndpoint :one
SELECT * FROM endpoints WHERE id = @id AND workspace_id = @workspace_id;

-- name: ListEndpointsByHost :many
SELECT DISTINCT host FROM endpoints WHERE workspace_id = @workspace_id ORDER BY host LIMIT @max_rows;

-- name: CountFailing :one
SELECT count(*) FROM endpoints WHERE workspace_id = @workspace_id AND failing_since > 0;
