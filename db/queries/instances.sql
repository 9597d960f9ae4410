-- name: Heartbeat :exec
INSERT INTO instances (id, workers, started_at, heartbeat_at, peer_addr, features) VALUES (@id, @workers, @now, @now, @peer_addr, @features)
ON CONFLICT (id) DO UPDATE SET workers = excluded.workers, heartbeat_at = excluded.heartbeat_at, peer_addr = excluded.peer_addr,
    features = excluded.features;

-- The features of the instances that have sent a heartbeat recently.
-- name: ListFeatures :many
SELECT features FROM instances WHERE heartbeat_at > @since;

-- Removes an instance unless it has sent a heartbeat since.
-- name: DeleteSilent :execrows
DELETE FROM instances WHERE id = @id AND heartbeat_at <= @since;

-- name: CountWorkingInstances :one
SELECT count(*) FROM instances WHERE heartbeat_at > @since AND workers > 0;

-- name: CountInstance :one
SELECT count(*) FROM instances WHERE id = @id;

-- name: SilenceInstance :exec
UPDATE instances SET workers = 0, heartbeat_at = 1 WHERE id = @id;

-- name: ListSilent :many
SELECT id FROM instances WHERE heartbeat_at <= @since ORDER BY id;

-- Runs held by an instance without a row: it was taken over while it was frozen,
-- continued for a moment, and is gone.
-- name: ListOrphaned :many
SELECT instance_id FROM runs
WHERE place = 2 AND place > 0 AND instance_id <> '' AND instance_id NOT IN (SELECT id FROM instances);

-- name: CountWorkers :one
SELECT CAST(COALESCE(sum(workers), 0) AS BIGINT) AS workers FROM instances WHERE heartbeat_at > @since;

-- name: ListHeld :many
SELECT r.id, r.instance_id, r.attempt FROM runs r WHERE r.place = 2 AND r.place > 0
    AND r.id NOT IN (SELECT m.id FROM damaged_rows m WHERE m.table_name = 'runs')
ORDER BY r.id;

-- name: FindHolder :one
SELECT id, instance_id FROM runs WHERE id = @id AND place = 2;

-- The instance that works on a run, and where its peers reach it.
-- name: FindRunPeer :one
SELECT i.id, i.peer_addr FROM runs r JOIN instances i ON i.id = r.instance_id WHERE r.id = @id AND r.place = 2;

-- name: MarkBusy :exec
UPDATE runs SET busy = @busy WHERE id = @id AND place = 2 AND instance_id = @instance_id;

-- name: ListClaimed :many
SELECT r.id, r.busy FROM runs r WHERE r.place = 2 AND r.place > 0 AND r.instance_id = @instance_id
    AND r.id NOT IN (SELECT m.id FROM damaged_rows m WHERE m.table_name = 'runs')
ORDER BY r.id;

-- name: CutRun :one
UPDATE runs SET attempt = attempt + 1, instance_id = @instance_id, busy = @busy, crashes = crashes + @crashed,
    busy_crashes = busy_crashes + @was_busy, guilt = CASE WHEN trial_size = 1 THEN guilt + @guilt ELSE guilt END
WHERE id = @id AND place = 2
RETURNING id, workspace_id, flow_id, key_id, attempt, crashes, busy_crashes;

-- name: ListSuspects :many
SELECT r.id, r.workspace_id, r.flow_id, r.trial_size, r.guilt FROM runs r WHERE r.place = 4 AND r.place > 0
    AND r.id NOT IN (SELECT m.id FROM damaged_rows m WHERE m.table_name = 'runs')
ORDER BY r.id;

-- name: TrySuspect :one
UPDATE runs SET place = 2, attempt = attempt + 1, instance_id = @instance_id, busy = @busy, trial_size = @trial_size
WHERE id = @id AND place = 4
RETURNING workspace_id, flow_id, attempt;

-- Ends a run without reading its other columns.
-- name: FailRun :execrows
UPDATE runs SET state = 'failed', place = 0, error = @error, outputs = '', expires_at = @expires_at,
    ended_at = CASE WHEN started_at > CAST(@ended_at AS BIGINT) THEN started_at
        WHEN created_at > CAST(@ended_at AS BIGINT) THEN created_at ELSE CAST(@ended_at AS BIGINT) END,
    seq = seq + 1, run_seq = seq + 1, instance_id = '', busy = 0
WHERE id = @id AND attempt = @attempt AND place = 2;

-- name: FindFailed :one
SELECT workspace_id, flow_id, key_id, created_at, started_at, ended_at, seq, save, caller_run_id, caller_path, caller_round, caller_item, flows_above, budgets FROM runs WHERE id = @id;

-- name: AddUnpricedSteps :exec
UPDATE runs SET unpriced_steps = unpriced_steps + @steps WHERE id = @id;

-- name: TakeRun :one
UPDATE runs SET attempt = attempt + 1, instance_id = @instance_id, busy = 0
WHERE id = @id AND attempt = @attempt AND place = 2
RETURNING attempt;

-- name: RequeueRun :one
UPDATE runs SET attempt = attempt + 1, instance_id = '', busy = 0, trial_size = 0
WHERE id = @id AND attempt = @attempt AND place = 2
RETURNING attempt;
