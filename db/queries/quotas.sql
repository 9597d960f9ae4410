-- name: FindQuota :one
SELECT quota_bytes, quota_flows, quota_runs FROM workspaces WHERE id = @id;

-- name: SetQuota :execrows
UPDATE workspaces SET quota_bytes = @quota_bytes, quota_flows = @quota_flows, quota_runs = @quota_runs WHERE id = @id;

-- name: ListQuotas :many
SELECT w.id, w.name, w.quota_bytes, w.quota_flows, w.quota_runs,
    CAST(COALESCE(sum(s.bytes), 0) AS BIGINT) AS bytes, CAST(COALESCE(sum(s.flows), 0) AS BIGINT) AS flows,
    CAST(COALESCE(sum(s.runs), 0) AS BIGINT) AS runs
FROM workspaces w LEFT JOIN storage s ON s.workspace_id = w.id
WHERE w.id > @after_id
GROUP BY w.id, w.name, w.quota_bytes, w.quota_flows, w.quota_runs
ORDER BY w.id LIMIT @max_rows;

-- name: FindStorage :one
SELECT CAST(COALESCE(sum(bytes), 0) AS BIGINT) AS bytes, CAST(COALESCE(sum(flows), 0) AS BIGINT) AS flows,
    CAST(COALESCE(sum(runs), 0) AS BIGINT) AS runs
FROM storage WHERE workspace_id = @workspace_id;

-- name: AddStorage :exec
INSERT INTO storage (workspace_id, shard, bytes, flows, runs) VALUES (@workspace_id, @shard, @bytes, @flows, @runs)
ON CONFLICT (workspace_id, shard) DO UPDATE
SET bytes = storage.bytes + excluded.bytes, flows = storage.flows + excluded.flows, runs = storage.runs + excluded.runs;

-- Counts what is kept row by row. It reads everything, so only tests and
-- "sluice doctor" use it; migration 00008 counts the same.
-- name: CountStorage :many
SELECT c.workspace_id, CAST(sum(c.bytes) AS BIGINT) AS bytes, CAST(sum(c.flows) AS BIGINT) AS flows, CAST(sum(c.runs) AS BIGINT) AS runs
FROM (
    SELECT workspace_id, sum(size + 512) AS bytes, 0 AS flows, 0 AS runs
    FROM files WHERE erased_at = 0 GROUP BY workspace_id
    UNION ALL
    SELECT workspace_id, sum(octet_length(gist) + octet_length(error) + octet_length(metadata) + octet_length(inputs) + octet_length(outputs) + 512), 0, count(*)
    FROM runs WHERE erased = '' GROUP BY workspace_id
    UNION ALL
    SELECT workspace_id, sum(octet_length(error) + octet_length(saved) + octet_length(input) + octet_length(outputs) + octet_length(attempts)), 0, 0
    FROM steps GROUP BY workspace_id
    UNION ALL
    SELECT workspace_id, sum(octet_length(body)), 0, 0 FROM deliveries GROUP BY workspace_id
    UNION ALL
    SELECT workspace_id, sum(octet_length(draft) + 512), sum(CASE WHEN archived_at = 0 THEN 1 ELSE 0 END), 0
    FROM flows GROUP BY workspace_id
    UNION ALL
    SELECT workspace_id, sum(octet_length(ops) + octet_length(inverse) + octet_length(skipped)), 0, 0 FROM edits GROUP BY workspace_id
    UNION ALL
    SELECT workspace_id, sum(octet_length(outputs)), 0, 0 FROM pins GROUP BY workspace_id
    UNION ALL
    SELECT workspace_id, 512 * count(*), 0, 0 FROM versions GROUP BY workspace_id
    UNION ALL
    SELECT workspace_id, sum(octet_length(body)), 0, 0 FROM documents GROUP BY workspace_id
) c
GROUP BY c.workspace_id ORDER BY c.workspace_id;

-- The content of a run that is kept, as CountStorage counts it.
-- name: SizeRun :one
SELECT CAST(octet_length(r.gist) + octet_length(r.error) + octet_length(r.metadata) + octet_length(r.inputs) + octet_length(r.outputs)
    + (SELECT COALESCE(sum(octet_length(s.error) + octet_length(s.saved) + octet_length(s.input) + octet_length(s.outputs) + octet_length(s.attempts)), 0)
        FROM steps s WHERE s.run_id = r.id)
    + (SELECT COALESCE(sum(octet_length(d.body)), 0) FROM deliveries d WHERE d.run_id = r.id) AS BIGINT) AS bytes
FROM runs r WHERE r.id = @id;

-- name: SizeSteps :many
SELECT path, CAST(octet_length(error) + octet_length(saved) + octet_length(input) + octet_length(outputs) + octet_length(attempts) AS BIGINT) AS bytes
FROM steps WHERE run_id = @run_id;

-- name: SizeResult :one
SELECT CAST(octet_length(outputs) + octet_length(error) AS BIGINT) AS bytes FROM runs WHERE id = @id;

-- Changes nothing. Whoever replaces a draft, archives or restores a flow holds
-- its row first, so that what was there before is counted exactly once.
-- name: HoldFlow :one
UPDATE flows SET rev = rev WHERE id = @id AND workspace_id = @workspace_id
RETURNING rev, archived_at, CAST(octet_length(draft) AS BIGINT) AS bytes;

-- name: SizePin :one
SELECT CAST(octet_length(outputs) AS BIGINT) AS bytes FROM pins
WHERE flow_id = @flow_id AND node_id = @node_id AND workspace_id = @workspace_id;
