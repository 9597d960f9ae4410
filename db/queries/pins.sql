-- name: SavePin :execrows
INSERT INTO pins (flow_id, node_id, workspace_id, created_at, outputs)
SELECT f.id, CAST(@node_id AS TEXT), f.workspace_id, CAST(@created_at AS BIGINT), CAST(@outputs AS TEXT)
FROM flows f WHERE f.id = @flow_id AND f.workspace_id = @workspace_id
ON CONFLICT (flow_id, node_id) DO UPDATE SET outputs = excluded.outputs, created_at = excluded.created_at;

-- name: ListPins :many
SELECT * FROM pins WHERE flow_id = @flow_id AND workspace_id = @workspace_id ORDER BY node_id;

-- name: DeletePin :one
DELETE FROM pins WHERE flow_id = @flow_id AND node_id = @node_id AND workspace_id = @workspace_id
RETURNING CAST(octet_length(outputs) AS BIGINT) AS bytes;

-- name: DeletePinsOfFlow :many
DELETE FROM pins WHERE flow_id = @flow_id
RETURNING CAST(octet_length(outputs) AS BIGINT) AS bytes;
