-- name: ListCases :many
SELECT * FROM cases WHERE flow_id = @flow_id AND workspace_id = @workspace_id ORDER BY id;

-- name: FindCase :one
SELECT * FROM cases WHERE flow_id = @flow_id AND id = @id AND workspace_id = @workspace_id;

-- name: ListCasesOfRun :many
SELECT flow_id, id FROM cases WHERE from_run = @from_run AND from_run <> '' AND workspace_id = @workspace_id ORDER BY flow_id, id;

-- name: CountCases :one
SELECT count(*) FROM cases WHERE flow_id = @flow_id;

-- name: MeasureCases :one
SELECT count(*) AS cases, CAST(COALESCE(sum(octet_length(body)), 0) AS BIGINT) AS bytes FROM cases WHERE flow_id = @flow_id;

-- name: SaveCase :exec
INSERT INTO cases (flow_id, id, workspace_id, body, source, from_run, changed_at)
VALUES (@flow_id, @id, @workspace_id, @body, @source, @from_run, @changed_at)
ON CONFLICT (flow_id, id) DO UPDATE SET body = excluded.body, source = excluded.source, from_run = excluded.from_run, changed_at = excluded.changed_at;

-- name: SetCaseSource :exec
UPDATE cases SET source = @source WHERE flow_id = @flow_id AND id = @id AND workspace_id = @workspace_id;

-- name: DeleteCase :one
DELETE FROM cases WHERE flow_id = @flow_id AND id = @id AND workspace_id = @workspace_id
RETURNING CAST(octet_length(body) AS BIGINT) AS bytes;

-- name: FindCaseSettings :one
SELECT body FROM case_settings WHERE flow_id = @flow_id AND workspace_id = @workspace_id;

-- name: SaveCaseSettings :exec
INSERT INTO case_settings (flow_id, workspace_id, body) VALUES (@flow_id, @workspace_id, @body)
ON CONFLICT (flow_id) DO UPDATE SET body = excluded.body;

-- name: InsertCaseSet :execrows
INSERT INTO case_sets (workspace_id, hash, body) VALUES (@workspace_id, @hash, @body) ON CONFLICT DO NOTHING;

-- name: FindCaseSetSize :one
SELECT CAST(octet_length(body) AS BIGINT) AS bytes FROM case_sets WHERE workspace_id = @workspace_id AND hash = @hash;

-- name: WriteCaseSet :exec
UPDATE case_sets SET body = @body WHERE workspace_id = @workspace_id AND hash = @hash;

-- Locks a version of cases until the end of the transaction.
-- name: LockCaseSet :execrows
UPDATE case_sets SET hash = hash WHERE workspace_id = @workspace_id AND hash = @hash;

-- name: DeleteUnusedCaseSet :many
DELETE FROM case_sets WHERE case_sets.workspace_id = @workspace_id AND case_sets.hash = @hash
    AND NOT EXISTS (SELECT 1 FROM tests t WHERE t.workspace_id = case_sets.workspace_id AND t.set_hash = case_sets.hash)
RETURNING CAST(octet_length(body) AS BIGINT) AS bytes;

-- Lists the versions of the cases of a flow that contain a text.
-- name: ListCaseSetsWith :many
SELECT s.hash FROM case_sets s WHERE s.workspace_id = @workspace_id AND s.body LIKE @pattern
    AND s.hash IN (SELECT t.set_hash FROM tests t WHERE t.flow_id = @flow_id AND t.workspace_id = @workspace_id);

-- name: ListCaseRevisionsWith :many
SELECT rev, body FROM companion_bodies WHERE owner_id = @owner_id AND name = @name AND workspace_id = @workspace_id AND body LIKE @pattern;

-- name: EraseRevision :exec
UPDATE companion_bodies SET body = @body, hash = '' WHERE owner_id = @owner_id AND name = @name AND rev = @rev;

-- name: DeleteBacktestRuns :exec
DELETE FROM backtest_runs WHERE workspace_id = @workspace_id AND set_hash = @set_hash;

-- name: AddBacktestRun :exec
INSERT INTO backtest_runs (run_id, workspace_id, set_hash) VALUES (@run_id, @workspace_id, @set_hash) ON CONFLICT DO NOTHING;

-- name: FindCaseSet :one
SELECT body FROM case_sets WHERE workspace_id = @workspace_id AND hash = @hash;

-- name: FindRecording :one
SELECT * FROM recordings WHERE flow_id = @flow_id AND node_hash = @node_hash AND input_hash = @input_hash AND n = @n AND workspace_id = @workspace_id;

-- name: FindLastRecording :one
SELECT * FROM recordings WHERE flow_id = @flow_id AND node = @node AND workspace_id = @workspace_id ORDER BY created_at DESC LIMIT 1;

-- name: InsertRecording :execrows
INSERT INTO recordings (flow_id, node_hash, input_hash, n, workspace_id, node, input, outputs, untrusted, used, run_id, created_at, used_at)
VALUES (@flow_id, @node_hash, @input_hash, @n, @workspace_id, @node, @input, @outputs, @untrusted, @used, @run_id, @created_at, @created_at)
ON CONFLICT DO NOTHING;

-- name: TouchRecording :exec
UPDATE recordings SET used_at = @used_at WHERE flow_id = @flow_id AND node_hash = @node_hash AND input_hash = @input_hash AND n = @n;

-- name: DeleteOldRecordings :many
DELETE FROM recordings WHERE (flow_id, node_hash, input_hash, n) IN (
    SELECT r.flow_id, r.node_hash, r.input_hash, r.n FROM recordings r WHERE r.used_at < @before ORDER BY r.used_at LIMIT @max_rows
) RETURNING workspace_id, CAST(octet_length(input) + octet_length(outputs) AS BIGINT) AS bytes;

-- name: InsertTest :exec
INSERT INTO tests (id, workspace_id, flow_id, run_id, set_hash, spec, made_by, created_at)
VALUES (@id, @workspace_id, @flow_id, @run_id, @set_hash, @spec, @made_by, @created_at);

-- name: SetTestRun :exec
UPDATE tests SET run_id = @run_id WHERE id = @id AND workspace_id = @workspace_id;

-- Deletes a test that has no run.
-- name: DeleteTest :one
DELETE FROM tests WHERE id = @id AND workspace_id = @workspace_id AND run_id = ''
RETURNING CAST(octet_length(spec) AS BIGINT) AS bytes;

-- name: FindTest :one
SELECT * FROM tests WHERE id = @id AND workspace_id = @workspace_id;

-- name: FindTestOfRun :one
SELECT * FROM tests WHERE run_id = @run_id AND workspace_id = @workspace_id;

-- name: ListTests :many
SELECT * FROM tests WHERE flow_id = @flow_id AND workspace_id = @workspace_id AND run_id <> '' AND (id < @before_id OR @before_id = '')
ORDER BY id DESC LIMIT @max_rows;

-- name: SetTestNotes :exec
UPDATE tests SET notes = @notes, notes_by = @notes_by WHERE id = @id AND workspace_id = @workspace_id;

-- name: SetTestDigest :exec
UPDATE tests SET digest = @digest WHERE id = @id AND workspace_id = @workspace_id;

-- name: ListJudgeMarks :many
SELECT candidate, n, check_label, agrees FROM judge_marks WHERE test_id = @test_id AND case_id = @case_id AND workspace_id = @workspace_id;

-- name: SaveJudgeMark :exec
INSERT INTO judge_marks (test_id, candidate, case_id, n, check_label, workspace_id, flow_id, judge, agrees, made_by, created_at)
VALUES (@test_id, @candidate, @case_id, @n, @check_label, @workspace_id, @flow_id, @judge, @agrees, @made_by, @created_at)
ON CONFLICT (test_id, candidate, case_id, n, check_label) DO UPDATE SET agrees = excluded.agrees, made_by = excluded.made_by, created_at = excluded.created_at;

-- name: CountJudgeMarks :many
SELECT judge, count(*) AS marks, CAST(sum(agrees) AS BIGINT) AS agreed FROM judge_marks
WHERE flow_id = @flow_id AND workspace_id = @workspace_id GROUP BY judge ORDER BY judge;

-- name: ListVerdicts :many
SELECT candidate, item, case_id, n, state, score, message, cost_nano_usd, spent_nano_usd, tokens, ms, recorded, run_id, judge_nano_usd, judge_spent_nano_usd
FROM verdicts WHERE test_id = @test_id AND workspace_id = @workspace_id ORDER BY candidate, item;

-- name: ListRecordings :many
SELECT * FROM recordings WHERE flow_id = @flow_id AND workspace_id = @workspace_id AND (node_hash, input_hash, n) > (@node_hash, @input_hash, CAST(@n AS BIGINT))
ORDER BY node_hash, input_hash, n LIMIT @max_rows;

-- name: CountRecordings :one
SELECT count(*) FROM recordings WHERE flow_id = @flow_id AND node_hash = @node_hash;

-- name: DeleteUnstartedTests :many
DELETE FROM tests WHERE id IN (
    SELECT t.id FROM tests t WHERE t.run_id = '' AND t.created_at < @before LIMIT @max_rows
) RETURNING workspace_id, set_hash, CAST(octet_length(spec) AS BIGINT) AS bytes;

-- name: DeleteOldTests :many
DELETE FROM tests WHERE id IN (
    SELECT t.id FROM tests t WHERE t.created_at < @before AND t.id IN (SELECT o.id FROM tests o ORDER BY o.id LIMIT @max_rows)
) RETURNING id, workspace_id, set_hash, CAST(octet_length(spec) + octet_length(notes) AS BIGINT) AS bytes;

-- name: DeleteVerdicts :exec
DELETE FROM verdicts WHERE test_id = @test_id;
