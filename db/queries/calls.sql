-- Calls with one credential take turns here.
-- name: LockCalls :one
UPDATE credentials SET calls_turn = calls_turn + 1 WHERE workspace_id = @workspace_id AND name = @credential
RETURNING max_calls, calls_per_minute;

-- name: ForgetCalls :exec
DELETE FROM credential_calls WHERE workspace_id = @workspace_id AND credential = @credential
    AND (started_at > 0 AND started_at <= @since AND (ended_at > 0 OR due_at <= @now) OR started_at = 0 AND due_at <= @since);

-- Ends what is left of earlier calls of a step, such as one that a crash cut.
-- name: EndCallsOfStep :exec
UPDATE credential_calls SET ended_at = @now
WHERE workspace_id = @workspace_id AND credential = @credential AND run_id = @run_id AND path = @path AND started_at > 0 AND ended_at = 0;

-- name: FindQueuedCall :one
SELECT queued_at FROM credential_calls WHERE id = @id;

-- ahead are the calls that wait and came before; those that ask again only later let others pass.
-- name: CountCalls :one
SELECT CAST(COALESCE(sum(CASE WHEN started_at > 0 AND ended_at = 0 AND due_at > @now THEN 1 ELSE 0 END), 0) AS BIGINT) AS running,
    CAST(COALESCE(sum(CASE WHEN started_at > @since THEN 1 ELSE 0 END), 0) AS BIGINT) AS recent,
    CAST(COALESCE(min(CASE WHEN started_at > @since THEN started_at END), 0) AS BIGINT) AS oldest,
    CAST(COALESCE(sum(CASE WHEN started_at = 0 AND (queued_at < @queued_at OR queued_at = @queued_at AND id < @id) THEN 1 ELSE 0 END), 0) AS BIGINT) AS ahead,
    CAST(COALESCE(sum(CASE WHEN started_at = 0 AND (queued_at < @queued_at OR queued_at = @queued_at AND id < @id) AND due_at <= @soon THEN 1 ELSE 0 END), 0) AS BIGINT) AS ahead_now,
    CAST(COALESCE(sum(CASE WHEN ended_at > 0 THEN ended_at - started_at ELSE 0 END), 0) AS BIGINT) AS took,
    CAST(COALESCE(sum(CASE WHEN ended_at > 0 THEN 1 ELSE 0 END), 0) AS BIGINT) AS ended
FROM credential_calls WHERE workspace_id = @workspace_id AND credential = @credential;

-- name: QueueCall :exec
INSERT INTO credential_calls (id, workspace_id, credential, run_id, path, queued_at, started_at, ended_at, due_at)
VALUES (@id, @workspace_id, @credential, @run_id, @path, @queued_at, 0, 0, @due_at)
ON CONFLICT (id) DO UPDATE SET due_at = excluded.due_at;

-- name: StartCall :exec
INSERT INTO credential_calls (id, workspace_id, credential, run_id, path, queued_at, started_at, ended_at, due_at)
VALUES (@id, @workspace_id, @credential, @run_id, @path, @now, @now, 0, @due_at);

-- name: DropCall :exec
DELETE FROM credential_calls WHERE id = @id;

-- name: EndCall :exec
UPDATE credential_calls SET ended_at = @now WHERE id = @id;

-- A step that waits for its turn reserves nothing of a budget.
-- name: UnreserveStep :exec
UPDATE steps SET reserved = 0 WHERE run_id = @run_id AND path = @path AND reserved > 0;

-- name: SetCredentialLimits :execrows
UPDATE credentials SET max_calls = @max_calls, calls_per_minute = @calls_per_minute, updated_at = @now
WHERE workspace_id = @workspace_id AND name = @name;
