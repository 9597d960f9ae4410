-- name: Heartbeat :exec
INSERT INTO instances (id, workers, started_at, heartbeat_at) VALUES (@id, @workers, @now, @now)
ON CONFLICT (id) DO UPDATE SET workers = excluded.workers, heartbeat_at = excluded.heartbeat_at;

-- name: DeleteInstance :exec
DELETE FROM instances WHERE id = @id;

-- name: SilenceInstance :exec
UPDATE instances SET workers = 0, heartbeat_at = 1 WHERE id = @id;

-- name: ListSilent :many
SELECT id FROM instances WHERE heartbeat_at <= @since ORDER BY id;

-- Runs of an instance that nobody knows of any more: it was taken over while it
-- was frozen, went on for a moment, and is gone.
-- name: ListOrphaned :many
SELECT instance_id FROM runs
WHERE place = 2 AND place > 0 AND instance_id <> '' AND instance_id NOT IN (SELECT id FROM instances);

-- name: CountWorkers :one
SELECT CAST(COALESCE(sum(workers), 0) AS BIGINT) AS workers FROM instances WHERE heartbeat_at > @since;

-- name: ListHeld :many
SELECT id, instance_id, attempt FROM runs WHERE place = 2 AND place > 0 ORDER BY id;

-- name: FindHolder :one
SELECT id, instance_id FROM runs WHERE id = @id AND place = 2;

-- name: HoldRun :exec
UPDATE runs SET instance_id = @instance_id WHERE id = @id AND place = 2;

-- name: ListClaimed :many
SELECT id FROM runs WHERE place = 2 AND place > 0 AND instance_id = @instance_id ORDER BY id;

-- name: CutRun :one
UPDATE runs SET attempt = attempt + 1, instance_id = '', crashes = crashes + @crashed
WHERE id = @id AND place = 2
RETURNING id, workspace_id, flow_id, key_id, attempt, crashes;

-- name: ListSuspects :many
SELECT id, workspace_id, flow_id, attempt, crashes FROM runs WHERE place = 4 AND place > 0 ORDER BY id;

-- name: HandBackRun :one
UPDATE runs SET attempt = attempt + 1, instance_id = '' WHERE id = @id AND attempt = @attempt AND place = 2
RETURNING attempt;
