-- How far the items of a step are, for the page of a run. A cell stands for @size items.

-- name: CountChildRunCells :many
SELECT CAST(caller_item / CAST(@size AS BIGINT) AS BIGINT) AS cell,
    CAST(sum(CASE WHEN state = 'succeeded' THEN 1 ELSE 0 END) AS BIGINT) AS done,
    CAST(COALESCE(min(CASE WHEN state = 'failed' THEN caller_item END), -1) AS BIGINT) AS failed,
    CAST(COALESCE(min(CASE WHEN state = 'canceled' THEN caller_item END), -1) AS BIGINT) AS canceled,
    CAST(sum(CASE WHEN state = 'canceled' THEN 1 ELSE 0 END) AS BIGINT) AS canceled_count,
    CAST(COALESCE(min(CASE WHEN place > 0 THEN caller_item END), -1) AS BIGINT) AS running
FROM runs
WHERE caller_run_id = @caller_run_id AND caller_run_id <> '' AND caller_path = @caller_path AND caller_round = @caller_round
GROUP BY cell ORDER BY cell;

-- name: CountChildItemCells :many
SELECT CAST(item / CAST(@size AS BIGINT) AS BIGINT) AS cell,
    CAST(sum(CASE WHEN reused <> '' THEN 1 ELSE 0 END) AS BIGINT) AS done,
    CAST(COALESCE(min(CASE WHEN error <> '' THEN item END), -1) AS BIGINT) AS failed
FROM child_items
WHERE run_id = @run_id AND path = @path AND round = @round AND (error <> '' OR reused <> '')
GROUP BY cell ORDER BY cell;

-- name: ListChildRunFailures :many
SELECT caller_item, error, ended_at FROM runs
WHERE caller_run_id = @caller_run_id AND caller_run_id <> '' AND caller_path = @caller_path AND caller_round = @caller_round
    AND state = 'failed'
ORDER BY caller_item LIMIT @max_rows;

-- name: ListChildItemFailures :many
SELECT item, error FROM child_items
WHERE run_id = @run_id AND path = @path AND round = @round AND error <> ''
ORDER BY item LIMIT @max_rows;

-- The tries of an item are those of its step that needed most.
-- name: ListShownChildRuns :many
SELECT sqlc.embed(runs), CAST(COALESCE((SELECT max(s.failures) FROM steps s WHERE s.run_id = runs.id), 0) AS BIGINT) AS failures
FROM runs
WHERE caller_run_id = @caller_run_id AND caller_run_id <> '' AND caller_path = @caller_path AND caller_round = @caller_round
    AND (CAST(@failed AS BIGINT) = 1 AND state = 'failed' OR CAST(@canceled AS BIGINT) = 1 AND state = 'canceled' OR CAST(@running AS BIGINT) = 1 AND place > 0 OR CAST(@done AS BIGINT) = 1 AND state = 'succeeded')
    AND (CAST(@code AS TEXT) = '' OR error LIKE CAST(@code AS TEXT))
    AND (CAST(@needle AS TEXT) = '' OR lower(inputs) LIKE CAST(@needle AS TEXT) ESCAPE '\' OR lower(outputs) LIKE CAST(@needle AS TEXT) ESCAPE '\' OR lower(error) LIKE CAST(@needle AS TEXT) ESCAPE '\')
ORDER BY caller_item LIMIT @max_rows;

-- name: ListReusedChildRuns :many
SELECT sqlc.embed(runs), i.item
FROM child_items i JOIN runs ON runs.id = i.reused
WHERE i.run_id = @run_id AND i.path = @path AND i.round = @round AND i.reused <> ''
    AND (CAST(@needle AS TEXT) = '' OR lower(runs.inputs) LIKE CAST(@needle AS TEXT) ESCAPE '\' OR lower(runs.outputs) LIKE CAST(@needle AS TEXT) ESCAPE '\')
ORDER BY i.item LIMIT @max_rows;

-- Items that cannot start, or that have not started.
-- name: ListShownChildItems :many
SELECT item, inputs, error FROM child_items
WHERE run_id = @run_id AND path = @path AND round = @round AND reused = ''
    AND (CAST(@failed AS BIGINT) = 1 AND error <> '' OR CAST(@failed AS BIGINT) = 0 AND error = '')
    AND (CAST(@code AS TEXT) = '' OR error LIKE CAST(@code AS TEXT))
    AND (CAST(@needle AS TEXT) = '' OR lower(inputs) LIKE CAST(@needle AS TEXT) ESCAPE '\' OR lower(error) LIKE CAST(@needle AS TEXT) ESCAPE '\')
ORDER BY item LIMIT @max_rows;
