-- Quotas and storage of each workspace. A quota of -1 is the server's default,
-- 0 is unlimited.

-- +goose Up
ALTER TABLE workspaces ADD COLUMN quota_bytes BIGINT NOT NULL DEFAULT -1;
ALTER TABLE workspaces ADD COLUMN quota_flows BIGINT NOT NULL DEFAULT -1;
ALTER TABLE workspaces ADD COLUMN quota_runs BIGINT NOT NULL DEFAULT -1;

-- The storage of a workspace is the sum of its shards. Concurrent transactions
-- on PostgreSQL add to different shards, so that they do not wait for each
-- other. A single shard may be negative.
CREATE TABLE storage (
    workspace_id TEXT NOT NULL,
    shard        BIGINT NOT NULL,
    bytes        BIGINT NOT NULL,
    flows        BIGINT NOT NULL,
    runs         BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, shard)
);

-- Count existing content. Tests compare the counters with these queries.
INSERT INTO storage (workspace_id, shard, bytes, flows, runs)
SELECT c.workspace_id, 0, CAST(sum(c.bytes) AS BIGINT), CAST(sum(c.flows) AS BIGINT), CAST(sum(c.runs) AS BIGINT)
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
GROUP BY c.workspace_id;
