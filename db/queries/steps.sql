-- The steps of a run that have an event after a number (-1 for all), and those that have not ended.
-- name: ListSteps :many
SELECT * FROM steps WHERE run_id = @run_id AND workspace_id = @workspace_id AND (seq > @after OR output_seq > @after OR state IN ('running', 'waiting'));

-- What the waiting steps of a run are, without their content.
-- name: ListWaitingSteps :many
SELECT kind, CAST(CASE WHEN saved = '' THEN 0 ELSE 1 END AS BIGINT) AS has_state FROM steps
WHERE run_id = @run_id AND workspace_id = @workspace_id AND state = 'waiting';

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

-- name: FindStepOutputs :one
SELECT outputs FROM steps WHERE run_id = @run_id AND path = @path AND workspace_id = @workspace_id;

-- The steps of the nodes of a run: all but sub-steps.
-- name: ListNodeSteps :many
SELECT * FROM steps WHERE run_id = @run_id AND workspace_id = @workspace_id AND path NOT LIKE '%.%';

-- The steps of a run whose path begins with a prefix, without their content.
-- name: ListStepHeads :many
SELECT path, node, kind, state, attempt, error, input_tokens, output_tokens, cached_tokens, reasoning_tokens, unpriced_steps, cost_nano_usd, seq, started_at, ended_at, wait_until, untrusted
FROM steps WHERE run_id = @run_id AND workspace_id = @workspace_id AND substr(path, 1, CAST(@prefix_length AS INTEGER)) = CAST(@prefix AS TEXT);

-- The steps of a run for its trace: without input and outputs.
-- name: ListTracedSteps :many
SELECT path, node, kind, state, attempt, attempts, error, input_tokens, output_tokens, cached_tokens, reasoning_tokens, unpriced_steps, cost_nano_usd, started_at, ended_at
FROM steps WHERE run_id = @run_id AND workspace_id = @workspace_id;

-- The sub-steps of a run for the list on its page: without outputs, and with inputs and attempts only if they are short.
-- name: ListStepOutlines :many
SELECT path, node, kind, state, attempt, failures, error, input_tokens, output_tokens, cached_tokens, reasoning_tokens, unpriced_steps, cost_nano_usd, seq, started_at, ended_at, wait_until, untrusted,
    CAST(CASE WHEN length(input) <= 2000 THEN input ELSE '' END AS TEXT) AS input, CAST(CASE WHEN length(attempts) <= 8000 THEN attempts ELSE '' END AS TEXT) AS attempts
FROM steps WHERE run_id = @run_id AND workspace_id = @workspace_id AND path LIKE '%.%';

-- name: FindStep :one
SELECT * FROM steps WHERE run_id = @run_id AND path = @path AND workspace_id = @workspace_id;

-- The steps of a run of a test case, with the outputs of webhooks and searches only.
-- name: ListCaseSteps :many
SELECT path, node, kind, state, attempt, error, input_tokens, output_tokens, cached_tokens, reasoning_tokens, unpriced_steps, cost_nano_usd, started_at, ended_at, attempts,
    CAST(CASE WHEN kind IN ('webhook', 'knowledge_search') THEN outputs ELSE '' END AS TEXT) AS outputs
FROM steps WHERE run_id = @run_id AND workspace_id = @workspace_id;
