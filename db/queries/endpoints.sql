-- name: FindEndpoint :one
SELECT id FROM endpoints WHERE workspace_id = @workspace_id AND flow_id = @flow_id AND node = @node AND host = @host;

-- Finds an endpoint of a node at one host, if there are more than a number of them.
-- name: FindEndpointBeyond :one
SELECT id FROM endpoints WHERE workspace_id = @workspace_id AND flow_id = @flow_id AND node = @node AND hostname = @hostname LIMIT 1 OFFSET @skipped;

-- name: InsertEndpoint :exec
INSERT INTO endpoints (id, workspace_id, flow_id, node, host, hostname, failing_since, created_at)
VALUES (@id, @workspace_id, @flow_id, @node, @host, @hostname, 0, @created_at)
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

-- Endpoints of earlier releases have no hostname, and the host itself in host.
-- name: ListEndpointsByHost :many
SELECT DISTINCT CAST(CASE WHEN hostname = '' THEN host ELSE hostname END AS TEXT) AS host FROM endpoints WHERE workspace_id = @workspace_id ORDER BY 1 LIMIT @max_rows;

-- name: CountFailing :one
SELECT count(*) FROM endpoints WHERE workspace_id = @workspace_id AND failing_since > 0;
