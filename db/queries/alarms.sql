-- name: InsertAlarm :exec
INSERT INTO alarms (id, workspace_id, flow_id, name, config, is_on, reason, rev, source, made_by, created_at, changed_at, watched_from,
    step, firing_since, bad_at, counted_to, told_at, finding)
VALUES (@id, @workspace_id, @flow_id, @name, @config, 1, '', 1, @source, @made_by, @created_at, @created_at, @created_at, 0, 0, 0, @created_at, 0, '');

-- name: FindAlarm :one
SELECT * FROM alarms WHERE id = @id AND workspace_id = @workspace_id;

-- name: FindAlarmByName :one
SELECT * FROM alarms WHERE workspace_id = @workspace_id AND name = @name;

-- name: ListAlarms :many
SELECT * FROM alarms WHERE workspace_id = @workspace_id ORDER BY name;

-- name: ListAlarmsAfter :many
SELECT * FROM alarms WHERE id > @after AND is_on = 1 ORDER BY id LIMIT @max_rows;

-- name: CountAlarms :one
SELECT CAST(count(*) AS BIGINT) AS total FROM alarms WHERE workspace_id = @workspace_id;

-- What people change resets the state: what happened before does not count.
-- name: UpdateAlarm :execrows
UPDATE alarms SET flow_id = @flow_id, config = @config, is_on = @is_on, reason = @reason, source = @source, rev = rev + 1, changed_at = @changed_at,
    watched_from = @changed_at, counted_to = @changed_at, step = step + 1, firing_since = 0, bad_at = 0, told_at = 0, finding = ''
WHERE id = @id AND workspace_id = @workspace_id AND rev = @rev;

-- name: SetAlarmSource :exec
UPDATE alarms SET source = @source WHERE id = @id AND workspace_id = @workspace_id;

-- name: StepAlarm :execrows
UPDATE alarms SET step = step + 1, firing_since = @firing_since, bad_at = @bad_at, counted_to = @counted_to, told_at = @told_at, finding = @finding
WHERE id = @id AND step = @step AND is_on = 1;

-- name: DeleteAlarm :execrows
DELETE FROM alarms WHERE id = @id AND workspace_id = @workspace_id;

-- name: DeleteAlarmMessages :exec
DELETE FROM alarm_messages WHERE alarm_id = @alarm_id;

-- name: TurnOffAlarms :exec
UPDATE alarms SET is_on = 0, reason = @reason, rev = rev + 1, changed_at = @changed_at, step = step + 1, firing_since = 0, bad_at = 0, told_at = 0, finding = ''
WHERE flow_id = @flow_id AND workspace_id = @workspace_id AND is_on = 1;

-- name: InsertAlarmMessage :exec
INSERT INTO alarm_messages (id, alarm_id, workspace_id, kind, channel, target, body, state, tries, due_at, error, delivery_id, run_id, created_at)
VALUES (@id, @alarm_id, @workspace_id, @kind, @channel, @target, @body, 'pending', 0, @due_at, '', @delivery_id, '', @created_at);

-- The state of a webhook is that of its delivery, while that is kept.
-- name: ListAlarmMessages :many
SELECT m.id, m.alarm_id, m.kind, m.channel, m.target, m.body, CAST(COALESCE(d.state, m.state) AS TEXT) AS state, m.tries, m.due_at, m.error, m.delivery_id, m.run_id, m.created_at
FROM alarm_messages m LEFT JOIN deliveries d ON d.id = m.delivery_id AND m.delivery_id <> ''
WHERE m.alarm_id = @alarm_id AND m.id < @before ORDER BY m.id DESC LIMIT @max_rows;

-- name: NextAlarmMessage :one
SELECT m.due_at FROM alarm_messages m WHERE m.due_at > 0
    AND m.id NOT IN (SELECT x.id FROM damaged_rows x WHERE x.table_name = 'alarm_messages')
ORDER BY m.due_at LIMIT 1;

-- name: ListDueAlarmMessages :many
SELECT * FROM alarm_messages m WHERE m.due_at > 0 AND m.due_at <= @now
    AND m.id NOT IN (SELECT x.id FROM damaged_rows x WHERE x.table_name = 'alarm_messages')
ORDER BY m.due_at LIMIT @max_rows;

-- Takes a message for one attempt, until due_at.
-- name: TakeAlarmMessage :execrows
UPDATE alarm_messages SET tries = tries + 1, due_at = @due_at WHERE id = @id AND tries = @tries AND due_at > 0;

-- name: FinishAlarmMessage :exec
UPDATE alarm_messages SET state = @state, due_at = @due_at, error = @error, run_id = @run_id WHERE id = @id AND tries = @tries;

-- name: DropAlarmMessages :execrows
DELETE FROM alarm_messages WHERE id IN (SELECT m.id FROM alarm_messages m WHERE m.created_at <= @stale_before AND m.due_at = 0 ORDER BY m.created_at LIMIT @max_rows);

-- The runs of a flow that ended after a time, the latest first. Work runs, runs of drafts, child runs and runs that alarms started do not count.
-- name: ListRunEnds :many
SELECT r.id, r.state, r.started_at, r.ended_at, r.cost_nano_usd FROM runs r
WHERE r.flow_id = @flow_id AND r.ended_at >= @since AND r.place = 0 AND r.caller_run_id = '' AND r.draft = 0
    AND r.run_trigger NOT IN ('alarm', 'batch', 'test', 'index', 'backfill') AND r.state <> 'canceled'
ORDER BY r.ended_at DESC LIMIT @max_rows;

-- When a run of a flow last succeeded.
-- name: LastSuccess :one
SELECT r.ended_at FROM runs r
WHERE r.flow_id = @flow_id AND r.ended_at >= @since AND r.place = 0 AND r.caller_run_id = '' AND r.draft = 0
    AND r.run_trigger NOT IN ('alarm', 'batch', 'test', 'index', 'backfill') AND r.state = 'succeeded'
ORDER BY r.ended_at DESC LIMIT 1;

-- Runs in progress that started before a time and have cost at least an amount.
-- name: ListOpenRuns :many
SELECT r.id, r.flow_id, r.started_at, r.cost_nano_usd FROM runs r
WHERE r.place IN (1, 2, 3, 4) AND r.place > 0 AND r.workspace_id = @workspace_id AND (r.flow_id = @flow_id OR @flow_id = '')
    AND r.started_at > 0 AND r.started_at <= @started_before AND r.cost_nano_usd >= @least AND r.caller_run_id = '' AND r.draft = 0
    AND r.run_trigger NOT IN ('alarm', 'batch', 'test', 'index', 'backfill')
LIMIT @max_rows;

-- name: SumCost :one
SELECT CAST(COALESCE(sum(cost_nano_usd), 0) AS BIGINT) AS nano_usd FROM usage_full
WHERE workspace_id = @workspace_id AND day >= @from_day AND day <= @to_day AND (flow_id = @flow_id OR @flow_id = '');

-- The events of the triggers of a flow after a position that started nothing although they should have.
-- name: ListTrouble :many
SELECT e.trigger_id, e.event_key, e.state, e.code, t.name FROM events e JOIN triggers t ON t.id = e.trigger_id
WHERE e.flow_id = @flow_id AND e.position >= @since AND e.state IN ('skipped', 'missed', 'rejected')
ORDER BY e.position DESC LIMIT @max_rows;

-- name: ListFailingEndpoints :many
SELECT id, flow_id, node, CAST(CASE WHEN hostname = '' THEN host ELSE hostname END AS TEXT) AS host, failing_since FROM endpoints
WHERE workspace_id = @workspace_id AND failing_since > 0 AND failing_since <= @before AND (flow_id = @flow_id OR @flow_id = '') AND substr(node, 1, 1) <> '@'
ORDER BY failing_since LIMIT @max_rows;

-- name: ListOldQuestions :many
SELECT run_id, flow_id, created_at FROM approvals
WHERE workspace_id = @workspace_id AND decided_at = 0 AND created_at <= @before AND expires_at > @now AND (flow_id = @flow_id OR @flow_id = '')
ORDER BY created_at LIMIT @max_rows;

-- name: TakeLease :execrows
INSERT INTO leases (name, instance_id, until_at) VALUES (@name, @instance_id, @until_at)
ON CONFLICT (name) DO UPDATE SET instance_id = excluded.instance_id, until_at = excluded.until_at
WHERE leases.until_at <= @now OR leases.instance_id = excluded.instance_id;
