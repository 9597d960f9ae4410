-- name: FindQuota :one
SELECT quota_bytes AS bytes, quota_flows AS flows, quota_runs AS runs FROM workspaces WHERE id = @id;

-- name: SetQuota :execrows
UPDATE workspaces SET quota_bytes = @quota_bytes, quota_flows = @quota_flows, quota_runs = @quota_runs WHERE id = @id;

-- name: FindQuotaAndStorage :one
SELECT w.id, w.name, w.quota_bytes, w.quota_flows, w.quota_runs,
    CAST((SELECT COALESCE(sum(s.bytes), 0) FROM storage s WHERE s.workspace_id = w.id) AS BIGINT) AS bytes,
    CAST((SELECT COALESCE(sum(s.flows), 0) FROM storage s WHERE s.workspace_id = w.id) AS BIGINT) AS flows,
    CAST((SELECT COALESCE(sum(s.runs), 0) FROM storage s WHERE s.workspace_id = w.id) AS BIGINT) AS runs
FROM workspaces w WHERE w.id = @id;

-- name: ListQuotas :many
SELECT w.id, w.name, w.quota_bytes, w.quota_flows, w.quota_runs,
    CAST((SELECT COALESCE(sum(s.bytes), 0) FROM storage s WHERE s.workspace_id = w.id) AS BIGINT) AS bytes,
    CAST((SELECT COALESCE(sum(s.flows), 0) FROM storage s WHERE s.workspace_id = w.id) AS BIGINT) AS flows,
    CAST((SELECT COALESCE(sum(s.runs), 0) FROM storage s WHERE s.workspace_id = w.id) AS BIGINT) AS runs
FROM workspaces w WHERE w.id > @after_id
ORDER BY w.id LIMIT @max_rows;

-- name: FindStorage :one
SELECT CAST(COALESCE(sum(bytes), 0) AS BIGINT) AS bytes, CAST(COALESCE(sum(flows), 0) AS BIGINT) AS flows,
    CAST(COALESCE(sum(runs), 0) AS BIGINT) AS runs
FROM storage WHERE workspace_id = @workspace_id;

-- name: AddStorage :exec
INSERT INTO storage (workspace_id, shard, bytes, flows, runs) VALUES (@workspace_id, @shard, @bytes, @flows, @runs)
ON CONFLICT (workspace_id, shard) DO UPDATE
SET bytes = storage.bytes + excluded.bytes, flows = storage.flows + excluded.flows, runs = storage.runs + excluded.runs;

-- The content of a run, as migration 00008 counts it.
-- name: SizeRun :one
SELECT CAST(octet_length(r.gist) + octet_length(r.error) + octet_length(r.metadata) + octet_length(r.inputs) + octet_length(r.outputs)
    + (SELECT COALESCE(sum(octet_length(s.error) + octet_length(s.saved) + octet_length(s.input) + octet_length(s.outputs) + octet_length(s.attempts)), 0)
        FROM steps s WHERE s.run_id = r.id)
    + (SELECT COALESCE(sum(octet_length(p.content)), 0) FROM step_parts p WHERE p.run_id = r.id)
    + (SELECT COALESCE(sum(octet_length(d.body)), 0) FROM deliveries d WHERE d.run_id = r.id) AS BIGINT) AS bytes
FROM runs r WHERE r.id = @id;

-- How much a worker reads when it loads a run.
-- name: WeighRun :one
SELECT r.workspace_id, CAST(octet_length(r.error) + octet_length(r.metadata) + octet_length(r.inputs) + octet_length(r.outputs)
    + (SELECT COALESCE(sum(octet_length(s.error) + octet_length(s.saved) + octet_length(s.input) + octet_length(s.outputs) + octet_length(s.attempts)), 0)
        FROM steps s WHERE s.run_id = r.id)
    + (SELECT COALESCE(sum(octet_length(p.content)), 0) FROM step_parts p WHERE p.run_id = r.id)
    + (SELECT COALESCE(sum(octet_length(c.content)), 0) FROM run_contexts c WHERE r.context_hash <> '' AND c.workspace_id = r.workspace_id AND c.hash = r.context_hash) AS BIGINT) AS bytes
FROM runs r WHERE r.id = @id;

-- name: WeighContent :one
SELECT CAST(octet_length(metadata) + octet_length(inputs) + octet_length(outputs) AS BIGINT) AS bytes
FROM runs WHERE id = @id AND workspace_id = @workspace_id;

-- name: WeighSteps :one
SELECT CAST(COALESCE(sum(octet_length(saved) + octet_length(input) + octet_length(outputs)), 0)
    + (SELECT COALESCE(sum(octet_length(p.content)), 0) FROM step_parts p JOIN steps s ON s.run_id = p.run_id AND s.path = p.path
        WHERE p.run_id = @run_id AND (s.seq > @after OR s.output_seq > @after OR s.state IN ('running', 'waiting'))) AS BIGINT) AS bytes
FROM steps WHERE steps.run_id = @run_id AND (steps.seq > @after OR steps.output_seq > @after OR steps.state IN ('running', 'waiting'));

-- name: SizeSteps :many
SELECT path, CAST(octet_length(error) + octet_length(saved) + octet_length(input) + octet_length(outputs) + octet_length(attempts)
    + COALESCE((SELECT sum(octet_length(p.content)) FROM step_parts p WHERE p.run_id = steps.run_id AND p.path = steps.path), 0) AS BIGINT) AS bytes
FROM steps WHERE steps.run_id = @run_id;

-- name: SizeResult :one
SELECT CAST(octet_length(outputs) + octet_length(error) AS BIGINT) AS bytes FROM runs WHERE id = @id;

-- Changes nothing. It locks the row of a flow before its draft is replaced or
-- it is archived or restored, so that its previous size is counted exactly
-- once.
-- name: HoldFlow :one
UPDATE flows SET rev = rev WHERE id = @id AND workspace_id = @workspace_id
RETURNING rev, archived_at, CAST(octet_length(draft) AS BIGINT) AS bytes;

-- name: SizePin :one
SELECT CAST(octet_length(outputs) AS BIGINT) AS bytes FROM pins
WHERE flow_id = @flow_id AND node_id = @node_id AND workspace_id = @workspace_id;
