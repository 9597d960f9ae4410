-- name: ListCases :many
SELECT * FROM cases WHERE flow_id = @flow_id AND workspace_id = @workspace_id ORDER BY id;

-- name: FindCase :one
SELECT * FROM cases WHERE flow_id = @flow_id AND id = @id AND workspace_id = @workspace_id;

-- name: ListCasesOfRun :many
SELECT flow_id, id FROM cases WHERE from_run = @from_run AND from_run <> '' AND workspace_id = @workspace_id ORDER BY flow_id, id;

-- name: CountCases :one
SELECT count(*) FROM cases WHERE flow_id = @flow_id;

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

-- name: DeleteTest :exec
DELETE FROM tests WHERE id = @id AND workspace_id = @workspace_id;

-- name: FindTest :one
SELECT * FROM tests WHERE id = @id AND workspace_id = @workspace_id;

-- name: FindTestOfRun :one
SELECT * FROM tests WHERE run_id = @run_id AND workspace_id = @workspace_id;

-- name: ListTests :many
SELECT * FROM tests WHERE flow_id = @flow_id AND workspace_id = @workspace_id AND run_id <> '' AND (id < @before_id OR @before_id = '')
ORDER BY id DESC LIMIT @max_rows;

-- name: SaveJudgeMark :exec
INSERT INTO judge_marks (test_id, candidate, case_id, n, check_label, workspace_id, flow_id, judge, agrees, made_by, created_at)
VALUES (@test_id, @candidate, @case_id, @n, @check_label, @workspace_id, @flow_id, @judge, @agrees, @made_by, @created_at)
ON CONFLICT (test_id, candidate, case_id, n, check_label) DO UPDATE SET agrees = excluded.agrees, made_by = excluded.made_by, created_at = excluded.created_at;

-- name: CountJudgeMarks :many
SELECT judge, count(*) AS marks, CAST(sum(agrees) AS BIGINT) AS agreed FROM judge_marks
WHERE flow_id = @flow_id AND workspace_id = @workspace_id GROUP BY judge ORDER BY judge;

-- name: ListVerdicts :many
SELECT * FROM verdicts WHERE test_id = @test_id AND workspace_id = @workspace_id ORDER BY candidate, item;

-- name: ListRecordings :many
SELECT * FROM recordings WHERE flow_id = @flow_id AND workspace_id = @workspace_id AND (node_hash, input_hash, n) > (@node_hash, @input_hash, CAST(@n AS BIGINT))
ORDER BY node_hash, input_hash, n LIMIT @max_rows;

-- name: CountRecordings :one
SELECT count(*) FROM recordings WHERE flow_id = @flow_id AND node_hash = @node_hash;

-- name: DeleteOldTests :many
DELETE FROM tests WHERE id IN (
    SELECT t.id FROM tests t WHERE t.created_at < @before AND t.id IN (SELECT o.id FROM tests o ORDER BY o.id LIMIT @max_rows)
) RETURNING id, workspace_id, CAST(octet_length(spec) AS BIGINT) AS bytes;

-- name: DeleteVerdicts :exec
DELETE FROM verdicts WHERE test_id = @test_id;
