-- name: AddRunBudget :exec
INSERT INTO run_budgets (run_id, path, max_nano_usd, spent_nano_usd, lost_nano_usd) VALUES (@run_id, @path, @max_nano_usd, 0, 0)
ON CONFLICT (run_id, path) DO NOTHING;

-- Reservations against one budget wait here for each other, and for steps that end.
-- name: LockRunBudget :execrows
UPDATE run_budgets SET max_nano_usd = max_nano_usd WHERE run_id = @run_id AND path = @path;

-- name: AddRunSpending :exec
UPDATE run_budgets SET spent_nano_usd = spent_nano_usd + @spent, lost_nano_usd = lost_nano_usd + @lost
WHERE run_id = @run_id AND path = @path;

-- A budget and what running steps reserve of it: those of runs that name it, and of a budget of a step,
-- those with a path that begins with @prefix. A step that asks is not counted, because it may ask again after a crash.
-- name: FindRunBudget :one
SELECT b.max_nano_usd, b.spent_nano_usd, b.lost_nano_usd,
  CAST((SELECT COALESCE(sum(s.reserved), 0) FROM steps s JOIN runs r ON r.id = s.run_id
    WHERE s.workspace_id = @workspace_id AND s.reserved > 0 AND (s.state = 'running' OR s.state = 'waiting')
        AND s.reserved_attempt = r.attempt AND r.place > 0
        AND (r.budgets LIKE '% ' || CAST(@budget AS TEXT) || ' %' OR s.run_id = @run_id AND substr(s.path, 1, @prefix_length) = CAST(@prefix AS TEXT))
        AND NOT (s.run_id = @asking_run_id AND s.path = @asking_path)) AS BIGINT) AS reserved
FROM run_budgets b WHERE b.run_id = @run_id AND b.path = @path;
