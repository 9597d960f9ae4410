-- name: ListSteps :many
SELECT * FROM steps WHERE run_id = @run_id AND workspace_id = @workspace_id;

-- name: DeleteSteps :exec
DELETE FROM steps WHERE run_id = @run_id;
