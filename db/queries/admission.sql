-- The queries repeat "place > 0" beside "place = 1" because SQLite uses a partial
-- index only if the index condition is in the query.

-- The queue is always ordered by all columns of that index except the constant
-- ones, so that no other index fits: with statistics from a longer queue,
-- PostgreSQL would choose an index that scans all runs.

-- name: CountAdmitted :one
SELECT count(*) FROM runs WHERE place = 2 AND place > 0;

-- name: CountAdmittedOfWorkspace :one
SELECT count(*) FROM runs WHERE place = 2 AND place > 0 AND workspace_id = @workspace_id;

-- name: CountAdmittedOfFlow :one
SELECT count(*) FROM runs WHERE place = 2 AND place > 0 AND workspace_id = @workspace_id AND flow_id = @flow_id;

-- name: CountOpenOfKey :one
SELECT count(*) FROM runs WHERE place IN (1, 2, 3, 4) AND place > 0 AND workspace_id = @workspace_id AND key_id = @key_id AND caller_run_id = '';

-- CountOpenOfKey for a key with the keys that it made.
-- name: CountOpenOfKeys :one
WITH RECURSIVE tree(id) AS (
    SELECT k.id FROM keys k WHERE k.id = @key_id AND k.workspace_id = @workspace_id
    UNION SELECT m.id FROM tree JOIN keys m ON m.workspace_id = @workspace_id AND m.created_by = tree.id)
SELECT count(*) FROM runs r WHERE r.place IN (1, 2, 3, 4) AND r.place > 0 AND r.workspace_id = @workspace_id AND r.key_id IN (SELECT tree.id FROM tree) AND r.caller_run_id = '';

-- name: CountQueuedChildren :one
SELECT count(*) FROM runs
WHERE place = 1 AND place > 0 AND workspace_id = @workspace_id AND (flow_id = @flow_id OR @flow_id = '') AND caller_run_id <> '';

-- name: NextWorkspace :one
SELECT workspace_id FROM runs
WHERE place = 1 AND place > 0 AND workspace_id > @after
ORDER BY workspace_id, key_id, flow_id, id LIMIT 1;

-- name: NextKey :one
SELECT key_id FROM runs
WHERE place = 1 AND place > 0 AND workspace_id = @workspace_id AND key_id > @after
ORDER BY key_id, flow_id, id LIMIT 1;

-- name: FirstKey :one
SELECT key_id FROM runs
WHERE place = 1 AND place > 0 AND workspace_id = @workspace_id
ORDER BY key_id, flow_id, id LIMIT 1;

-- SQLite uses only the first column of a row comparison to seek in the index and
-- then scans, so the comparison must not end at the flow.
-- name: NextFlow :one
SELECT flow_id, id FROM runs
WHERE place = 1 AND place > 0 AND workspace_id = @workspace_id
    AND (key_id, flow_id, id) > (@key_id, @flow_id, @after_id) AND key_id <= @key_id
ORDER BY key_id, flow_id, id LIMIT 1;

-- name: AddQueueLength :exec
INSERT INTO queue_lengths (workspace_id, flow_id, queued) VALUES (@workspace_id, @flow_id, @queued)
ON CONFLICT (workspace_id, flow_id) DO UPDATE SET queued = queue_lengths.queued + excluded.queued;

-- name: QueueLengthOfFlow :one
SELECT queued FROM queue_lengths WHERE workspace_id = @workspace_id AND flow_id = @flow_id;

-- name: QueueLengthOfWorkspace :one
SELECT CAST(COALESCE(sum(queued), 0) AS BIGINT) AS queued FROM queue_lengths WHERE workspace_id = @workspace_id;

-- name: QueueLength :one
SELECT CAST(COALESCE(sum(queued), 0) AS BIGINT) AS queued FROM queue_lengths;

-- name: CountWaiting :one
SELECT count(*) FROM runs WHERE place IN (3, 4) AND place > 0;

-- name: CountAdmittedIn :one
SELECT count(*) FROM runs WHERE place = 2 AND place > 0 AND state = @state;

-- name: CountPendingDeliveries :one
SELECT count(*) FROM deliveries WHERE ended_at = 0;
