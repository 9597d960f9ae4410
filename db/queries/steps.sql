-- The steps of a run that have an event after a number (-1 for all), and those that have not ended.
-- name: ListSteps :many
SELECT * FROM steps WHERE run_id = @run_id AND workspace_id = @workspace_id AND (seq > @after OR output_seq > @after OR state IN ('running', 'waiting'));

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
SELECT p.path, p.content FROM step_parts p JOIN steps s ON s.run_id = p.run_id AND s.path = p.path
WHERE p.run_id = @run_id AND (s.seq > @after OR s.output_seq > @after OR s.state IN ('running', 'waiting')) ORDER BY p.path, p.part;

-- name: DeleteStepParts :exec
DELETE FROM step_parts WHERE run_id = @run_id AND path = @path;

-- name: DeleteStepPartsOfRun :exec
DELETE FROM step_parts WHERE run_id = @run_id;

-- name: FindStepOutputs :one
SELECT outputs FROM steps WHERE run_id = @run_id AND path = @path AND workspace_id = @workspace_id;
