-- A trigger with the hash of the live version of its flow, which is empty if that is archived or has none.
-- name: FindTriggerByToken :one
SELECT sqlc.embed(triggers), CAST(COALESCE((SELECT v.document_hash FROM flows f JOIN versions v ON v.flow_id = f.id AND v.number = f.live_version
    WHERE f.id = triggers.flow_id AND f.workspace_id = triggers.workspace_id AND f.archived_at = 0), '') AS TEXT) AS live_hash
FROM triggers WHERE token_hash = @token_hash AND token_hash <> '';

-- name: FindTriggerByOldToken :one
SELECT sqlc.embed(triggers), CAST(COALESCE((SELECT v.document_hash FROM flows f JOIN versions v ON v.flow_id = f.id AND v.number = f.live_version
    WHERE f.id = triggers.flow_id AND f.workspace_id = triggers.workspace_id AND f.archived_at = 0), '') AS TEXT) AS live_hash
FROM triggers WHERE old_hash = @old_hash AND old_hash <> '' AND old_until > @now LIMIT 1;

-- Gives a trigger another secret of its URL. The present one works until old_until.
-- name: SetTriggerToken :execrows
UPDATE triggers SET sealed = @sealed, old_hash = CASE WHEN CAST(@old_until AS BIGINT) > 0 THEN token_hash ELSE '' END, old_until = @old_until,
    token_hash = @token_hash, rev = rev + 1, changed_at = @changed_at
WHERE id = @id AND workspace_id = @workspace_id;

-- name: SetCapture :execrows
UPDATE triggers SET capture_until = @capture_until WHERE id = @id AND workspace_id = @workspace_id;

-- name: TakeTriggerRun :execrows
UPDATE triggers SET taken = CASE WHEN day = @day THEN taken + 1 ELSE 1 END, day = @day
WHERE id = @id AND (day <> @day OR taken < @most);

-- name: ReturnTriggerRun :exec
UPDATE triggers SET taken = taken - 1 WHERE id = @id AND day = @day AND taken > 0;

-- Adds an event that started nothing, or replaces an earlier one of the same key that started nothing.
-- name: SaveHookEvent :execrows
INSERT INTO events (trigger_id, event_key, workspace_id, flow_id, position, created_at, state, run_id, code, detail, repeats, request, request_bytes)
VALUES (@trigger_id, @event_key, @workspace_id, @flow_id, @position, @created_at, @state, '', @code, @detail, 0, @request, @request_bytes)
ON CONFLICT (trigger_id, event_key) DO UPDATE
SET position = excluded.position, created_at = excluded.created_at, state = excluded.state, code = excluded.code, detail = excluded.detail,
    request = excluded.request, request_bytes = excluded.request_bytes, repeats = events.repeats + 1
WHERE events.state <> 'started';

-- name: CountRepeat :execrows
UPDATE events SET repeats = repeats + 1 WHERE trigger_id = @trigger_id AND event_key = @event_key AND state = 'started';

-- name: SumRequestBytes :one
SELECT CAST(COALESCE(SUM(request_bytes), 0) AS BIGINT) FROM events WHERE trigger_id = @trigger_id;

-- name: FindRequestBytes :one
SELECT request_bytes FROM events WHERE trigger_id = @trigger_id AND event_key = @event_key;
