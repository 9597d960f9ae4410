-- name: InsertRun :exec
INSERT INTO runs (id, workspace_id, flow_id, version, draft, document_hash, state, place, attempt, instance_id, run_trigger,
    key_id, user_id, parent_run_id, rerun_from, input_tokens, output_tokens, cost_nano_usd, progress_done, progress_total,
    seq, run_seq, writes, save, timeout, cancel_requested, crashes, created_at, started_at, ended_at, expires_at, deadline_at,
    waiting_since, erased, gist, webhook, secrets, error, metadata, inputs, outputs, busy, children_live, skip_failed,
    caller_run_id, caller_path, caller_round, caller_item, flows_above, trigger_id, trigger_name, scheduled_at, event_key, max_nano_usd, budgets, untrusted, continues, context_hash, case_run, depth, traceparent)
VALUES (@id, @workspace_id, @flow_id, @version, @draft, @document_hash, @state, @place, @attempt, @instance_id, @run_trigger,
    @key_id, @user_id, @parent_run_id, @rerun_from, 0, 0, 0, @progress_done, @progress_total,
    @seq, @run_seq, 0, @save, @timeout, 0, 0, @created_at, 0, 0, 0, @deadline_at,
    0, '', @gist, @webhook, @secrets, '', @metadata, @inputs, '', @busy, @children_live, @skip_failed,
    @caller_run_id, @caller_path, @caller_round, @caller_item, @flows_above, @trigger_id, @trigger_name, @scheduled_at, @event_key, @max_nano_usd, @budgets, @untrusted, @continues, @context_hash, @case_run, @depth, @traceparent);

-- name: FindRun :one
SELECT sqlc.embed(runs), CAST(COALESCE((SELECT f.slug FROM flows f WHERE f.id = runs.flow_id), '') AS TEXT) AS flow_slug
FROM runs
WHERE runs.id = @id AND runs.workspace_id = @workspace_id AND (runs.flow_id = @flow_id OR @flow_id = '');

-- name: FindRunSecrets :one
SELECT secrets FROM runs WHERE id = @id AND workspace_id = @workspace_id;

-- name: FindHeldRun :one
SELECT sqlc.embed(runs), CAST(COALESCE((SELECT f.slug FROM flows f WHERE f.id = runs.flow_id), '') AS TEXT) AS flow_slug
FROM runs WHERE runs.id = @id AND runs.attempt = @attempt AND runs.place > 0;

-- name: ClaimRun :one
UPDATE runs SET instance_id = @instance_id, busy = 1 WHERE id = @id AND attempt = @attempt AND place > 0
RETURNING *;

-- name: HoldRun :execrows
UPDATE runs SET instance_id = @instance_id WHERE id = @id AND attempt = @attempt AND place > 0;

-- name: UpdateRun :execrows
UPDATE runs SET state = @state, place = @place, outputs = @outputs, error = @error,
    input_tokens = @input_tokens, output_tokens = @output_tokens, cost_nano_usd = @cost_nano_usd,
    cached_tokens = @cached_tokens, reasoning_tokens = @reasoning_tokens, unpriced_steps = @unpriced_steps, models = @models,
    progress_done = @progress_done, progress_total = @progress_total, seq = @seq, run_seq = @run_seq,
    started_at = @started_at, ended_at = @ended_at, expires_at = @expires_at, deadline_at = @deadline_at,
    waiting_since = @waiting_since, busy = @busy, untrusted = @untrusted,
    crashes = crashes * @keep_crashes, busy_crashes = busy_crashes * @keep_crashes, guilt = guilt * @keep_crashes,
    trial_size = trial_size * @keep_trial,
    writes = CASE WHEN @writes = 0 THEN writes ELSE @writes END
WHERE id = @id AND workspace_id = @workspace_id AND attempt = @attempt AND place > 0 AND (@writes = 0 OR writes = @writes - 1)
    AND cancel_requested <= @cancel_allowed;

-- Whether the cancellation of a run was requested, under an attempt that is still current.
-- name: IsCancelRequested :one
SELECT count(*) FROM runs WHERE id = @id AND attempt = @attempt AND place > 0 AND cancel_requested = 1;

-- name: FindPlace :one
SELECT place, attempt, instance_id FROM runs WHERE id = @id;

-- What others may have written to a run since its worker read it.
-- name: FindReleased :one
SELECT cancel_requested, stop_requested, webhook FROM runs WHERE id = @id;

-- name: MoveRun :one
UPDATE runs SET place = @place, attempt = attempt + 1, instance_id = @instance_id, busy = @busy
WHERE id = @id AND place = @from_place
RETURNING workspace_id, flow_id, key_id, attempt;

-- name: ParkRun :one
UPDATE runs SET place = @place, instance_id = '' WHERE id = @id AND place = @from_place
RETURNING flow_id;

-- name: SetCancel :one
UPDATE runs SET cancel_requested = 1
WHERE id = @id AND workspace_id = @workspace_id AND (flow_id = @flow_id OR @flow_id = '') AND place > 0
RETURNING place;

-- name: SetStop :one
UPDATE runs SET stop_requested = 1
WHERE id = @id AND workspace_id = @workspace_id AND (flow_id = @flow_id OR @flow_id = '') AND place > 0 AND stop_requested = 0
RETURNING place;

-- name: ListStops :many
SELECT id FROM runs
WHERE stop_requested = 1 AND place = 2 AND (instance_id = @instance_id OR instance_id = '')
ORDER BY id;

-- name: ListCancels :many
SELECT id FROM runs
WHERE cancel_requested = 1 AND place = 2 AND (instance_id = @instance_id OR instance_id = '')
ORDER BY id;

-- name: IsWritten :one
SELECT count(*) FROM runs WHERE id = @id AND attempt = @attempt AND writes = @writes;
