-- name: FindForm :one
SELECT * FROM forms WHERE flow_id = @flow_id;

-- name: SaveForm :execrows
INSERT INTO forms (flow_id, workspace_id, is_on, settings, updated_at, day, taken)
SELECT f.id, f.workspace_id, CAST(@is_on AS BIGINT), CAST(@settings AS TEXT), CAST(@updated_at AS BIGINT), 0, 0
FROM flows f WHERE f.id = @flow_id AND f.workspace_id = @workspace_id
ON CONFLICT (flow_id) DO UPDATE SET is_on = excluded.is_on, settings = excluded.settings, updated_at = excluded.updated_at;

-- name: TakeFormRun :execrows
UPDATE forms SET taken = CASE WHEN day = @day THEN taken + 1 ELSE 1 END, day = @day
WHERE flow_id = @flow_id AND (day <> @day OR taken < @most);

-- name: ReturnFormRun :exec
UPDATE forms SET taken = taken - 1 WHERE flow_id = @flow_id AND day = @day AND taken > 0;
