-- name: SaveApproval :exec
INSERT INTO approvals (run_id, path, workspace_id, flow_id, node, token_hash, question, created_at, expires_at, decided_at, decision, seen)
VALUES (@run_id, @path, @workspace_id, @flow_id, @node, @token_hash, @question, @created_at, @expires_at, 0, '', 0)
ON CONFLICT (run_id, path) DO UPDATE SET token_hash = excluded.token_hash, question = excluded.question, expires_at = excluded.expires_at
WHERE approvals.decided_at = 0;

-- name: FindApproval :one
SELECT a.*, r.place, r.cancel_requested, r.key_id, CAST(COALESCE(s.state, '') AS TEXT) AS step_state
FROM approvals a JOIN runs r ON r.id = a.run_id LEFT JOIN steps s ON s.run_id = a.run_id AND s.path = a.path
WHERE a.run_id = @run_id AND a.path = @path AND a.workspace_id = @workspace_id;

-- name: FindApprovalByToken :one
SELECT a.*, r.place, r.cancel_requested, r.key_id, CAST(COALESCE(s.state, '') AS TEXT) AS step_state
FROM approvals a JOIN runs r ON r.id = a.run_id LEFT JOIN steps s ON s.run_id = a.run_id AND s.path = a.path
WHERE a.token_hash = @token_hash;

-- name: ListApprovalsOfRun :many
SELECT a.*, r.place, r.cancel_requested, r.key_id, CAST(COALESCE(s.state, '') AS TEXT) AS step_state
FROM approvals a JOIN runs r ON r.id = a.run_id LEFT JOIN steps s ON s.run_id = a.run_id AND s.path = a.path
WHERE a.run_id = @run_id AND a.workspace_id = @workspace_id
ORDER BY a.path;

-- name: ListOpenApprovals :many
SELECT a.*, r.place, r.cancel_requested, r.key_id, CAST(COALESCE(s.state, '') AS TEXT) AS step_state
FROM approvals a JOIN runs r ON r.id = a.run_id LEFT JOIN steps s ON s.run_id = a.run_id AND s.path = a.path
WHERE a.workspace_id = @workspace_id AND a.decided_at = 0 AND a.expires_at > @now AND r.place > 0 AND r.cancel_requested = 0
    AND COALESCE(s.state, '') NOT IN ('canceled', 'failed')
ORDER BY a.created_at DESC LIMIT @max_rows;

-- name: CountOpenApprovals :one
SELECT count(*) FROM approvals a JOIN runs r ON r.id = a.run_id LEFT JOIN steps s ON s.run_id = a.run_id AND s.path = a.path
WHERE a.workspace_id = @workspace_id AND a.decided_at = 0 AND a.expires_at > @now AND r.place > 0 AND r.cancel_requested = 0
    AND COALESCE(s.state, '') NOT IN ('canceled', 'failed');

-- name: LockRun :one
UPDATE runs SET place = place WHERE id = @id RETURNING place, cancel_requested, key_id;

-- name: DecideApproval :execrows
UPDATE approvals SET decided_at = @decided_at, decision = @decision
WHERE run_id = @run_id AND path = @path AND decided_at = 0;

-- name: SeeApproval :exec
UPDATE approvals SET seen = 1 WHERE run_id = @run_id AND path = @path AND decided_at > 0 AND seen = 0;

-- name: WakeDecidedSteps :execrows
UPDATE steps SET wait_until = @now
WHERE steps.run_id = @run_id AND state = 'waiting'
    AND path IN (SELECT a.path FROM approvals a WHERE a.run_id = @run_id AND a.decided_at > 0 AND a.seen = 0);
