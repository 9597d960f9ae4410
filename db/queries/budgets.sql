-- Takes one start from the budget of a day; no row is affected if the budget is
-- used up. If clocks differ around midnight, the newer day applies.
-- name: TakeStart :execrows
INSERT INTO day_starts (workspace_id, subject, day, runs) VALUES (@workspace_id, @subject, @day, 1)
ON CONFLICT (workspace_id, subject) DO UPDATE
SET runs = CASE WHEN day_starts.day < excluded.day THEN 1 ELSE day_starts.runs + 1 END,
    day = CASE WHEN day_starts.day < excluded.day THEN excluded.day ELSE day_starts.day END
WHERE day_starts.day < excluded.day OR day_starts.runs < @most;

-- name: SetStarts :exec
INSERT INTO day_starts (workspace_id, subject, day, runs) VALUES (@workspace_id, @subject, @day, @runs)
ON CONFLICT (workspace_id, subject) DO UPDATE SET day = excluded.day, runs = excluded.runs;

-- name: FindStarts :one
SELECT runs FROM day_starts WHERE workspace_id = @workspace_id AND subject = @subject AND day >= @day;

-- name: CountStarts :one
SELECT count(*) FROM runs
WHERE id >= @from_id AND workspace_id = @workspace_id AND (flow_id = @subject OR key_id = @subject);

-- name: FlowSpent :one
SELECT CAST(COALESCE(sum(cost_nano_usd), 0) AS BIGINT) AS spent FROM usage_all
WHERE workspace_id = @workspace_id AND flow_id = @flow_id AND day = @day;

-- name: FindSpendingLimits :one
SELECT f.usd_per_day AS flow_usd, CAST(COALESCE(k.usd_per_day, 0) AS BIGINT) AS key_usd, COALESCE(k.name, '') AS key_name
FROM flows f LEFT JOIN keys k ON k.id = @key_id AND k.workspace_id = f.workspace_id
WHERE f.id = @flow_id AND f.workspace_id = @workspace_id;
