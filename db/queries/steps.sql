-- name: ListSteps :many
SELECT * FROM steps WHERE run_id = @run_id AND workspace_id = @workspace_id;

-- What the waiting steps of a run are, without their content.
-- name: ListWaitingSteps :many
SELECT kind, CAST(CASE WHEN saved = '' THEN 0 ELSE 1 END AS BIGINT) AS has_state FROM steps
WHERE run_id = @run_id AND workspace_id = @workspace_id AND state = 'waiting';

-- name: DeleteSteps :exec
DELETE FROM steps WHERE run_id = @run_id;

-- name: CancelOpenSteps :exec
UPDATE steps SET state = 'canceled', ended_at = @ended_at, wait_until = 0, saved = ''
WHERE run_id = @run_id AND state IN ('running', 'retrying', 'waiting');

-- name: InsertStepPart :exec
INSERT INTO step_parts (run_id, path, part, content) VALUES (@run_id, @path, @part, @content);

-- name: ListStepParts :many
SELECT path, content FROM step_parts WHERE run_id = @run_id ORDER BY path, part;

-- name: DeleteStepParts :exec
DELETE FROM step_parts WHERE run_id = @run_id AND path = @path;

-- name: DeleteStepPartsOfRun :exec
DELETE FROM step_parts WHERE run_id = @run_id;

-- name: FindStepOutputs :one
SELECT outputs FROM steps WHERE run_id = @run_id AND path = @path AND workspace_id = @workspace_id;
