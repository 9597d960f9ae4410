-- The conversation that a run begins with.
-- name: AddRunContext :execrows
INSERT INTO run_contexts (workspace_id, hash, content) VALUES (@workspace_id, @hash, @content)
ON CONFLICT (workspace_id, hash) DO NOTHING;

-- Starts and erasures of runs with one conversation wait here for each other.
-- name: LockRunContext :execrows
UPDATE run_contexts SET hash = hash WHERE workspace_id = @workspace_id AND hash = @hash;

-- name: FindRunContext :one
SELECT content FROM run_contexts WHERE workspace_id = @workspace_id AND hash = @hash;

-- name: ListContinued :many
SELECT id, flow_id, state, erased FROM runs WHERE continues = @continues AND continues <> '' AND workspace_id = @workspace_id;
