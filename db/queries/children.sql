-- name: InsertChildren :exec
INSERT INTO children (run_id, path, round, workspace_id, root_run_id, depth, flow_id, document_hash, template, concurrency, keep_errors,
    total, pending, running, succeeded, failed, reused, stopped, seen,
    input_tokens, output_tokens, cached_tokens, reasoning_tokens, unpriced_steps, cost_nano_usd)
VALUES (@run_id, @path, @round, @workspace_id, @root_run_id, @depth, @flow_id, @document_hash, @template, @concurrency, @keep_errors,
    -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
ON CONFLICT (run_id, path, round) DO NOTHING;

-- name: FindChildren :one
SELECT * FROM children WHERE run_id = @run_id AND path = @path AND round = @round;

-- name: ListChildren :many
SELECT * FROM children WHERE run_id = @run_id AND workspace_id = @workspace_id ORDER BY path, round;

-- name: LockChildren :one
UPDATE children SET stopped = stopped WHERE run_id = @run_id AND path = @path AND round = @round
RETURNING *;

-- name: LoadChildren :exec
UPDATE children SET total = @total, failed = @failed, succeeded = @taken_over, reused = @taken_over, pending = @pending
WHERE run_id = @run_id AND path = @path AND round = @round AND total < 0;

-- name: CountChild :one
UPDATE children SET running = running - @ended, succeeded = succeeded + @succeeded, failed = failed + @failed,
    input_tokens = input_tokens + @input_tokens, output_tokens = output_tokens + @output_tokens, cached_tokens = cached_tokens + @cached_tokens,
    reasoning_tokens = reasoning_tokens + @reasoning_tokens, unpriced_steps = unpriced_steps + @unpriced_steps, cost_nano_usd = cost_nano_usd + @cost_nano_usd
WHERE run_id = @run_id AND path = @path AND round = @round
RETURNING *;

-- name: RecountChildren :exec
UPDATE children SET
    running = (SELECT count(*) FROM runs r WHERE r.caller_run_id = @run_id AND r.caller_run_id <> '' AND r.caller_path = @path AND r.caller_round = @round AND r.place > 0),
    succeeded = reused + (SELECT count(*) FROM runs r WHERE r.caller_run_id = @run_id AND r.caller_run_id <> '' AND r.caller_path = @path AND r.caller_round = @round
        AND r.place = 0 AND r.state = 'succeeded'),
    failed = (SELECT count(*) FROM child_items i WHERE i.run_id = @run_id AND i.path = @path AND i.round = @round AND i.error <> '')
        + (SELECT count(*) FROM runs r WHERE r.caller_run_id = @run_id AND r.caller_run_id <> '' AND r.caller_path = @path AND r.caller_round = @round
        AND r.place = 0 AND r.state <> 'succeeded')
WHERE children.run_id = @run_id AND children.path = @path AND children.round = @round AND total >= 0;

-- The next items that can start. Those before first have started; naming it keeps the search
-- from passing over their deleted rows.
-- name: TakeChildItems :many
SELECT item, inputs FROM child_items
WHERE run_id = @run_id AND path = @path AND round = @round AND item >= @first AND error = '' AND reused = ''
ORDER BY item LIMIT @max_rows;

-- name: DeleteChildItems :exec
DELETE FROM child_items
WHERE run_id = @run_id AND path = @path AND round = @round AND item >= @first AND item <= @item AND error = '' AND reused = '';

-- name: StartChildren :exec
UPDATE children SET pending = pending - @started, running = running + @started
WHERE run_id = @run_id AND path = @path AND round = @round;

-- The concurrency is negative while the step is paused.
-- name: SetChildConcurrency :exec
UPDATE children SET concurrency = @concurrency WHERE run_id = @run_id AND path = @path AND round = @round;

-- name: StopChildren :exec
UPDATE children SET stopped = 1, pending = 0 WHERE run_id = @run_id AND path = @path AND round = @round;

-- name: MarkChildrenRead :exec
UPDATE children SET seen = 1 WHERE run_id = @run_id AND path = @path AND round = @round AND seen = 0;

-- name: ListChildRuns :many
SELECT * FROM runs
WHERE caller_run_id = @caller_run_id AND caller_run_id <> '' AND caller_path = @caller_path AND caller_round = @caller_round
    AND caller_item >= @from_item AND caller_item < @to_item
ORDER BY caller_item;

-- Child runs for the trace that they belong to, without their content.
-- name: ListTracedChildRuns :many
SELECT runs.id, runs.workspace_id, runs.flow_id, runs.version, runs.draft, runs.state, runs.run_trigger, runs.error, runs.cost_nano_usd, runs.save, runs.created_at, runs.ended_at, runs.caller_path, runs.traceparent,
    CAST(COALESCE((SELECT f.slug FROM flows f WHERE f.id = runs.flow_id), '') AS TEXT) AS flow_slug
FROM runs
WHERE caller_run_id = @caller_run_id AND caller_run_id <> '' AND caller_path = @caller_path AND caller_round = @caller_round
    AND caller_item >= @from_item AND caller_item < @to_item
ORDER BY caller_item;

-- name: ListOpenChildRuns :many
SELECT id, flow_id FROM runs
WHERE caller_run_id = @caller_run_id AND caller_run_id <> '' AND caller_path = @caller_path AND caller_round = @caller_round AND place > 0
ORDER BY caller_item;

-- name: ListChildItems :many
SELECT item, inputs, error, reused FROM child_items
WHERE run_id = @run_id AND path = @path AND round = @round AND item >= @from_item AND item < @to_item AND (error <> '' OR reused <> '')
ORDER BY item;

-- name: SumChildren :one
SELECT CAST(COALESCE(sum(input_tokens), 0) AS BIGINT) AS input_tokens, CAST(COALESCE(sum(output_tokens), 0) AS BIGINT) AS output_tokens,
    CAST(COALESCE(sum(cached_tokens), 0) AS BIGINT) AS cached_tokens, CAST(COALESCE(sum(reasoning_tokens), 0) AS BIGINT) AS reasoning_tokens,
    CAST(COALESCE(sum(unpriced_steps), 0) AS BIGINT) AS unpriced_steps, CAST(COALESCE(sum(cost_nano_usd), 0) AS BIGINT) AS cost_nano_usd
FROM children WHERE run_id = @run_id;

-- A step need not wait for its children any longer when all have ended, or when one has
-- failed and the others no longer count.
-- name: WakeCallingSteps :execrows
UPDATE steps SET wait_until = @now
WHERE steps.run_id = @run_id AND state = 'waiting'
    AND path IN (SELECT c.path FROM children c WHERE c.run_id = @run_id AND c.seen = 0 AND c.total >= 0
        AND (c.pending = 0 AND c.running = 0 OR c.failed > 0 AND c.keep_errors = 0));

-- Rows of a batch wait for a budget, like steps that wait for a retry, without a saved state.
-- name: WakeWaitingRows :many
UPDATE steps SET wait_until = @now
WHERE state = 'waiting' AND saved = '' AND steps.run_id IN (SELECT r.id FROM runs r
    WHERE r.caller_run_id = @run_id AND r.caller_run_id <> '' AND r.caller_path = @path AND r.caller_round = @round AND r.place > 0)
RETURNING steps.run_id;

-- name: CountRunningChildren :one
SELECT CAST(COALESCE(sum(running), 0) AS BIGINT) AS running FROM children WHERE run_id = @run_id;

-- The documents of the child runs below a root run, each once. It skips from one hash to the
-- next in the index, because a tree may have 100,000 runs of the same document.
-- name: ListTreeDocuments :many
WITH RECURSIVE hashes(hash) AS (
    SELECT CAST(COALESCE(min(f.document_hash), '') AS TEXT) FROM children f WHERE f.root_run_id = @root_run_id
    UNION ALL
    SELECT CAST(COALESCE((SELECT min(c.document_hash) FROM children c WHERE c.root_run_id = @root_run_id AND c.document_hash > hashes.hash), '') AS TEXT)
    FROM hashes WHERE hashes.hash > '')
SELECT CAST(hashes.hash AS TEXT) AS hash FROM hashes WHERE hashes.hash > '';

-- name: FindRunDocument :one
SELECT document_hash, caller_run_id, run_trigger FROM runs WHERE id = @id AND workspace_id = @workspace_id;
