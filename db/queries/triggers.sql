-- name: InsertTrigger :exec
INSERT INTO triggers (id, workspace_id, flow_id, name, kind, config, sealed, token_hash, is_on, reason, next_at, due_at, waiting_at,
    decided_at, missed_until, last_run_id, rev, source, made_by, created_at, changed_at, day, taken)
VALUES (@id, @workspace_id, @flow_id, @name, @kind, @config, @sealed, @token_hash, @is_on, @reason, @next_at, @due_at, 0,
    0, 0, '', 1, @source, @made_by, @created_at, @created_at, 0, 0);

-- name: FindTrigger :one
SELECT * FROM triggers WHERE id = @id AND workspace_id = @workspace_id;

-- name: FindTriggerByName :one
SELECT * FROM triggers WHERE flow_id = @flow_id AND workspace_id = @workspace_id AND name = @name;

-- name: ListTriggers :many
SELECT * FROM triggers WHERE workspace_id = @workspace_id AND (flow_id = @flow_id OR @flow_id = '') ORDER BY flow_id, name;

-- name: CountTriggers :one
SELECT CAST(count(*) AS BIGINT) AS total, CAST(COALESCE(SUM(CASE WHEN flow_id = @flow_id THEN 1 ELSE 0 END), 0) AS BIGINT) AS of_flow
FROM triggers WHERE workspace_id = @workspace_id;

-- name: UpdateTrigger :execrows
UPDATE triggers SET name = @name, config = @config, is_on = @is_on, reason = @reason, next_at = @next_at, due_at = @due_at, waiting_at = 0,
    source = @source, rev = rev + 1, changed_at = @changed_at
WHERE id = @id AND workspace_id = @workspace_id AND rev = @rev;

-- name: SetTriggerSource :exec
UPDATE triggers SET source = @source WHERE id = @id AND workspace_id = @workspace_id;

-- name: DeleteTrigger :execrows
DELETE FROM triggers WHERE id = @id AND workspace_id = @workspace_id;

-- name: DeleteEvents :exec
DELETE FROM events WHERE trigger_id = @trigger_id;

-- name: TurnOffTriggers :exec
UPDATE triggers SET is_on = 0, reason = @reason, next_at = 0, due_at = 0, waiting_at = 0, rev = rev + 1, changed_at = @changed_at
WHERE flow_id = @flow_id AND workspace_id = @workspace_id AND is_on = 1;

-- Ends the waiting events of a trigger, or with an empty ID those of all triggers of a flow.
-- name: EndWaiting :exec
UPDATE events SET state = @state, code = @code, detail = @detail
WHERE flow_id = @flow_id AND state = 'waiting' AND (trigger_id = @trigger_id OR @trigger_id = '');

-- name: ListDueTriggers :many
SELECT * FROM triggers t WHERE t.due_at > 0 AND t.due_at <= @now
    AND NOT EXISTS (SELECT 1 FROM damaged_rows m WHERE m.table_name = 'triggers' AND m.id = t.id)
ORDER BY t.due_at LIMIT @max_rows;

-- name: NextDueTrigger :one
SELECT t.due_at FROM triggers t WHERE t.due_at > 0
    AND NOT EXISTS (SELECT 1 FROM damaged_rows m WHERE m.table_name = 'triggers' AND m.id = t.id)
ORDER BY t.due_at LIMIT 1;

-- name: ListTriggersAfter :many
SELECT * FROM triggers WHERE id > @after ORDER BY id LIMIT @max_rows;

-- Decides a planned time, unless another instance or a change by people came first.
-- name: ClaimTrigger :one
UPDATE triggers SET next_at = @next_at, due_at = @due_at, waiting_at = @waiting_at, decided_at = @decided_at
WHERE id = @id AND rev = @rev AND next_at = @old_next_at AND waiting_at = @old_waiting_at AND due_at = @old_due_at AND is_on = 1
RETURNING last_run_id;

-- name: SetLastRun :execrows
UPDATE triggers SET last_run_id = @run_id
WHERE id = @id;

-- Adds an event, or replaces one that started nothing or is older than its claim, which lasts 7 days.
-- name: SaveEvent :execrows
INSERT INTO events (trigger_id, event_key, workspace_id, flow_id, position, created_at, state, run_id, code, detail, repeats, request, request_bytes)
VALUES (@trigger_id, @event_key, @workspace_id, @flow_id, @position, @created_at, @state, @run_id, @code, @detail, 0, @request, @request_bytes)
ON CONFLICT (trigger_id, event_key) DO UPDATE
SET created_at = excluded.created_at, state = excluded.state, run_id = excluded.run_id, code = excluded.code, detail = excluded.detail,
    request = excluded.request, request_bytes = excluded.request_bytes
WHERE events.state <> 'started' OR events.created_at <= excluded.created_at - 604800000000;

-- name: FindEvent :one
SELECT * FROM events WHERE trigger_id = @trigger_id AND event_key = @event_key;

-- name: ListEvents :many
SELECT * FROM events WHERE trigger_id = @trigger_id AND position < @before AND (state = @state OR @state = '')
ORDER BY position DESC LIMIT @max_rows;

-- name: ListEventsOfFlow :many
SELECT * FROM events WHERE flow_id = @flow_id AND workspace_id = @workspace_id AND position < @before AND (state = @state OR @state = '')
ORDER BY position DESC LIMIT @max_rows;

-- The tests that the events of a flow started, from one event to another.
-- name: ListTestsOfEvents :many
SELECT t.id, t.run_id FROM events e JOIN tests t ON t.run_id = e.run_id
WHERE e.flow_id = @flow_id AND e.workspace_id = @workspace_id AND e.position >= @oldest AND e.position <= @newest;

-- The IDs, states and durations of the last runs that a trigger has started and that have ended, newest first.
-- name: ListEndedRunsOfTrigger :many
SELECT r.id, r.state, r.started_at, r.ended_at FROM events e JOIN runs r ON r.id = e.run_id
WHERE e.trigger_id = @trigger_id AND e.state = 'started' AND e.created_at >= @since AND r.place = 0
ORDER BY e.position DESC LIMIT @max_rows;

-- name: DropEvents :many
DELETE FROM events WHERE (trigger_id, event_key) IN (
    SELECT e.trigger_id, e.event_key FROM events e WHERE e.created_at <= @stale_before AND e.state <> 'waiting' ORDER BY e.created_at LIMIT @max_rows)
RETURNING workspace_id, request_bytes;

-- Deletes the events of a trigger below the newest ones of a sort: those that did as told, or the others.
-- name: PruneEvents :many
DELETE FROM events WHERE events.trigger_id = @trigger_id AND (CASE WHEN events.state IN ('started', 'ignored') THEN 1 ELSE 0 END) = CAST(@plain AS BIGINT) AND events.state <> 'waiting'
    AND events.position <= COALESCE((SELECT e.position FROM events e WHERE e.trigger_id = @trigger_id
        AND (CASE WHEN e.state IN ('started', 'ignored') THEN 1 ELSE 0 END) = CAST(@plain AS BIGINT) ORDER BY e.position DESC LIMIT 1 OFFSET 10000), '')
RETURNING workspace_id, request_bytes;

-- name: MissTriggers :exec
UPDATE triggers SET missed_until = @missed_until, waiting_at = 0 WHERE id > '' AND missed_until < @missed_until;

-- name: SetTimezone :execrows
UPDATE workspaces SET timezone = @timezone WHERE id = @id;

-- name: AddTriggerKey :exec
INSERT INTO trigger_keys (trigger_id, key_id, workspace_id) VALUES (@trigger_id, @key_id, @workspace_id)
ON CONFLICT (trigger_id, key_id) DO NOTHING;

-- The keys that changed the trigger of a run or of the run that called it.
-- name: ListTriggerKeys :many
WITH RECURSIVE callers(id, trigger_id, caller_run_id) AS (
    SELECT r.id, r.trigger_id, r.caller_run_id FROM runs r WHERE r.id = @run_id
    UNION ALL
    SELECT r.id, r.trigger_id, r.caller_run_id FROM callers JOIN runs r ON r.id = callers.caller_run_id
)
SELECT k.key_id FROM trigger_keys k WHERE k.trigger_id IN (SELECT callers.trigger_id FROM callers) AND k.workspace_id = @workspace_id;

-- name: CountOfFlow :one
SELECT CAST(count(*) AS BIGINT) AS triggers,
  CAST((SELECT count(*) FROM (SELECT 1 FROM runs r WHERE r.workspace_id = @workspace_id AND r.flow_id = @flow_id AND r.place = 0
      AND r.state IN ('succeeded', 'failed', 'canceled') AND r.draft IN (0, 1)
      AND r.run_trigger IN ('api', 'builder', 'form', 'mcp', 'cli', 'rerun', 'schedule', 'hook', 'alarm') LIMIT @most) AS ended) AS BIGINT) AS runs
FROM triggers t WHERE t.workspace_id = @workspace_id AND t.flow_id = @flow_id;
