-- name: SavePrice :exec
INSERT INTO prices (workspace_id, model, input, output, second, call)
VALUES (@workspace_id, @model, @input, @output, @second, @call)
ON CONFLICT (workspace_id, model) DO UPDATE
SET input = excluded.input, output = excluded.output, second = excluded.second, call = excluded.call;

-- name: FindPrice :one
SELECT * FROM prices WHERE workspace_id = @workspace_id AND model = @model;

-- name: ListPrices :many
SELECT * FROM prices WHERE workspace_id = @workspace_id ORDER BY model;

-- name: DeletePrice :execrows
DELETE FROM prices WHERE workspace_id = @workspace_id AND model = @model;
