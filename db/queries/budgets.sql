-- Takes one start from the budget of a day; no row is affected if the budget is
-- used up. If clocks differ around midnight, the newer day applies.
-- name: TakeStart :execrows
INSERT INTO day_starts (workspace_id, subject, day, runs) VALUES (@workspace_id, @subject, @day, 1)
ON CONFLICT (workspace_id, subject) DO UPDATE
SET runs = CASE WHEN day_starts.day < excluded.day THEN 1 ELSE day_starts.runs + 1 END,
    day = CASE WHEN day_starts.day < excluded.day THEN excluded.day ELSE day_starts.day END
WHERE day_starts.day < excluded.day OR day_starts.runs < @most;

-- Adds starts to the budget of a day, and returns how many it has. If clocks differ around midnight, the
-- newer day applies.
-- name: AddStarts :one
INSERT INTO day_starts (workspace_id, subject, day, runs) VALUES (@workspace_id, @subject, @day, @runs)
ON CONFLICT (workspace_id, subject) DO UPDATE
SET runs = CASE WHEN day_starts.day < excluded.day THEN excluded.runs ELSE day_starts.runs + excluded.runs END,
    day = CASE WHEN day_starts.day < excluded.day THEN excluded.day ELSE day_starts.day END
RETURNING runs;

-- name: SetStarts :exec
INSERT INTO day_starts (workspace_id, subject, day, runs) VALUES (@workspace_id, @subject, @day, @runs)
ON CONFLICT (workspace_id, subject) DO UPDATE SET day = excluded.day, runs = excluded.runs;

-- name: FindStarts :one
SELECT runs FROM day_starts WHERE workspace_id = @workspace_id AND subject = @subject AND day >= @day;

-- name: CountStarts :one
SELECT count(*) FROM runs
WHERE caller_run_id = '' AND id >= @from_id AND workspace_id = @workspace_id AND (key_id = @subject OR flow_id = @subject);

-- CountStarts for a key, with the keys that it made.
-- name: CountStartsOfKeys :one
WITH RECURSIVE tree(id) AS (
    SELECT k.id FROM keys k WHERE k.id = @key_id AND k.workspace_id = @workspace_id
    UNION SELECT m.id FROM tree JOIN keys m ON m.workspace_id = @workspace_id AND m.created_by = tree.id)
SELECT count(*) FROM runs r
WHERE r.caller_run_id = '' AND r.id >= @from_id AND r.workspace_id = @workspace_id AND r.key_id IN (SELECT tree.id FROM tree);

-- KeySpent for a key with the keys that it made.
-- name: KeysSpent :one
WITH RECURSIVE tree(id) AS (
    SELECT k.id FROM keys k WHERE k.id = @key_id AND k.workspace_id = @workspace_id
    UNION SELECT m.id FROM tree JOIN keys m ON m.workspace_id = @workspace_id AND m.created_by = tree.id)
SELECT CAST(COALESCE(sum(spent_all.cost_nano_usd), 0) AS BIGINT) AS spent,
  CAST((SELECT COALESCE(sum(l.nano_usd), 0) FROM lost_spending l
    WHERE l.workspace_id = @workspace_id AND l.day = @day AND l.subject IN (SELECT tree.id FROM tree)) AS BIGINT) AS lost
FROM spent_all
WHERE spent_all.workspace_id = @workspace_id AND spent_all.day = @day AND spent_all.key_id IN (SELECT tree.id FROM tree);

-- What a flow has cost on a day, and the child runs that its runs started.
-- name: FlowSpent :one
SELECT CAST(COALESCE(sum(cost_nano_usd), 0) AS BIGINT) AS spent,
  CAST((SELECT COALESCE(sum(b.cost_nano_usd), 0) FROM spent_below b
    WHERE b.workspace_id = @workspace_id AND b.flow_id = @flow_id AND b.day = @day) AS BIGINT) AS below,
  CAST((SELECT COALESCE(sum(l.nano_usd), 0) FROM lost_spending l
    WHERE l.workspace_id = @workspace_id AND l.day = @day AND l.subject = CAST(@subject AS TEXT)) AS BIGINT) AS lost
FROM spent_all WHERE workspace_id = @workspace_id AND flow_id = @flow_id AND day = @day;

-- name: AddLostSpending :exec
INSERT INTO lost_spending (workspace_id, subject, day, nano_usd) VALUES (@workspace_id, @subject, @day, @nano_usd)
ON CONFLICT (day, workspace_id, subject) DO UPDATE SET nano_usd = lost_spending.nano_usd + excluded.nano_usd;

-- name: DropLostSpending :exec
DELETE FROM lost_spending WHERE day < @day;

-- Steps that still reserve something of a budget.
-- name: ListReserved :many
SELECT path, reserved, reserved_day, unpriced_steps, attempt, started_at, attempts FROM steps
WHERE run_id = @run_id AND reserved > 0;

-- name: DropReservation :exec
UPDATE steps SET reserved = 0 WHERE run_id = @run_id AND path = @path;

-- name: LoseStep :exec
UPDATE steps SET unpriced_steps = 1, attempts = @attempts WHERE run_id = @run_id AND path = @path;

-- name: AddSpentBelow :exec
INSERT INTO spent_below (workspace_id, flow_id, day, part, cost_nano_usd) VALUES (@workspace_id, @flow_id, @day, @part, @cost_nano_usd)
ON CONFLICT (day, workspace_id, flow_id, part) DO UPDATE SET cost_nano_usd = spent_below.cost_nano_usd + excluded.cost_nano_usd;

-- name: DropSpentBelow :exec
DELETE FROM spent_below WHERE day < @day;

-- name: FindSpendingLimits :one
SELECT f.name, f.usd_per_day AS flow_usd, CAST(COALESCE(k.usd_per_day, 0) AS BIGINT) AS key_usd, COALESCE(k.name, '') AS key_name,
    f.allow_unpriced AS flow_unpriced, CAST(COALESCE(k.allow_unpriced, 0) AS BIGINT) AS key_unpriced,
    COALESCE(k.created_by, '') AS key_maker, COALESCE(k.scopes, '') AS key_scopes
FROM flows f LEFT JOIN keys k ON k.id = @key_id AND k.workspace_id = f.workspace_id
WHERE f.id = @flow_id AND f.workspace_id = @workspace_id;

-- Reservations against one budget wait here for each other.
-- name: LockBudget :exec
INSERT INTO budget_locks (workspace_id, subject, turns) VALUES (@workspace_id, @subject, 1)
ON CONFLICT (workspace_id, subject) DO UPDATE SET turns = budget_locks.turns + 1;

-- FlowSpent, and what other steps reserve of it: in one statement, since a step that
-- ends turns the one into the other.
-- name: FindFlowReserved :one
SELECT CAST(COALESCE(sum(cost_nano_usd), 0) AS BIGINT) AS spent,
  CAST((SELECT COALESCE(sum(b.cost_nano_usd), 0) FROM spent_below b
    WHERE b.workspace_id = @workspace_id AND b.flow_id = @flow_id AND b.day = @day) AS BIGINT) AS below,
  CAST((SELECT COALESCE(sum(l.nano_usd), 0) FROM lost_spending l
    WHERE l.workspace_id = @workspace_id AND l.day = @day AND l.subject = CAST(@subject AS TEXT)) AS BIGINT) AS lost,
  CAST((SELECT COALESCE(sum(s.reserved), 0) FROM steps s JOIN runs r ON r.id = s.run_id
    WHERE s.workspace_id = @workspace_id AND s.reserved_day = @day AND s.reserved > 0 AND (s.state = 'running' OR s.state = 'waiting')
        AND s.reserved_attempt = r.attempt AND r.place > 0 AND (r.flow_id = @flow_id OR r.flows_above LIKE '% ' || @flow_id || ' %') AND NOT (s.run_id = @run_id AND s.path = @path)) AS BIGINT) AS reserved
FROM spent_all WHERE workspace_id = @workspace_id AND day = @day AND flow_id = @flow_id;

-- FindFlowReserved for a key.
-- name: FindKeyReserved :one
SELECT CAST(COALESCE(sum(cost_nano_usd), 0) AS BIGINT) AS spent,
  CAST((SELECT COALESCE(sum(s.reserved), 0) FROM steps s JOIN runs r ON r.id = s.run_id
    WHERE s.workspace_id = @workspace_id AND s.reserved_day = @day AND s.reserved > 0 AND (s.state = 'running' OR s.state = 'waiting')
        AND s.reserved_attempt = r.attempt AND r.place > 0 AND r.key_id = @key_id AND NOT (s.run_id = @run_id AND s.path = @path)) AS BIGINT) AS reserved,
  CAST((SELECT COALESCE(sum(l.nano_usd), 0) FROM lost_spending l
    WHERE l.workspace_id = @workspace_id AND l.day = @day AND l.subject = @key_id) AS BIGINT) AS lost
FROM spent_all WHERE workspace_id = @workspace_id AND day = @day AND key_id = @key_id;

-- FindKeyReserved for a key with the keys that it made.
-- name: FindKeysReserved :one
WITH RECURSIVE tree(id) AS (
    SELECT k.id FROM keys k WHERE k.id = @key_id AND k.workspace_id = @workspace_id
    UNION SELECT m.id FROM tree JOIN keys m ON m.workspace_id = @workspace_id AND m.created_by = tree.id)
SELECT CAST(COALESCE(sum(spent_all.cost_nano_usd), 0) AS BIGINT) AS spent,
  CAST((SELECT COALESCE(sum(s.reserved), 0) FROM steps s JOIN runs r ON r.id = s.run_id
    WHERE s.workspace_id = @workspace_id AND s.reserved_day = @day AND s.reserved > 0 AND (s.state = 'running' OR s.state = 'waiting')
        AND s.reserved_attempt = r.attempt AND r.place > 0 AND r.key_id IN (SELECT tree.id FROM tree) AND NOT (s.run_id = @run_id AND s.path = @path)) AS BIGINT) AS reserved,
  CAST((SELECT COALESCE(sum(l.nano_usd), 0) FROM lost_spending l
    WHERE l.workspace_id = @workspace_id AND l.day = @day AND l.subject IN (SELECT tree.id FROM tree)) AS BIGINT) AS lost
FROM spent_all WHERE spent_all.workspace_id = @workspace_id AND spent_all.day = @day AND spent_all.key_id IN (SELECT tree.id FROM tree);

-- name: ReserveStep :execrows
UPDATE steps SET reserved = @reserved, reserved_day = @day, reserved_attempt = @attempt
WHERE run_id = @run_id AND path = @path AND EXISTS (SELECT 1 FROM runs r WHERE r.id = @run_id AND r.attempt = @attempt AND r.place > 0);
