-- name: InsertEdit :exec
INSERT INTO edits (flow_id, rev, workspace_id, tx_id, tab, user_id, created_at, ops, inverse, skipped)
VALUES (@flow_id, @rev, @workspace_id, @tx_id, @tab, @user_id, @created_at, @ops, @inverse, @skipped);

-- name: FindEdit :one
SELECT * FROM edits WHERE flow_id = @flow_id AND tx_id = @tx_id AND workspace_id = @workspace_id;

-- name: ListEdits :many
SELECT rev, tx_id, tab, user_id, created_at, ops FROM edits
WHERE flow_id = @flow_id AND workspace_id = @workspace_id AND rev > @after_rev
ORDER BY rev LIMIT @max_rows;

-- name: ShortenEdits :many
DELETE FROM edits WHERE flow_id = @flow_id AND rev <= @last_rev
RETURNING CAST(octet_length(ops) + octet_length(inverse) + octet_length(skipped) AS BIGINT) AS bytes;

-- name: ListEditSizes :many
SELECT rev, CAST(octet_length(ops) + octet_length(inverse) + octet_length(skipped) AS BIGINT) AS bytes FROM edits
WHERE flow_id = @flow_id ORDER BY rev DESC;

-- name: DropEdits :many
DELETE FROM edits WHERE (flow_id, rev) IN (
    SELECT e.flow_id, e.rev FROM edits e WHERE e.created_at <= @stale_before ORDER BY e.created_at LIMIT @max_rows)
RETURNING workspace_id, CAST(octet_length(ops) + octet_length(inverse) + octet_length(skipped) AS BIGINT) AS bytes;

-- name: DeleteEditsOfFlow :many
DELETE FROM edits WHERE flow_id = @flow_id
RETURNING CAST(octet_length(ops) + octet_length(inverse) + octet_length(skipped) AS BIGINT) AS bytes;

-- Transactions of a tab that have not been undone, see document.UndoTx; newest first.
-- name: ListUndoable :many
SELECT e.rev, e.tx_id, e.user_id, e.created_at FROM edits e
WHERE e.flow_id = @flow_id AND e.workspace_id = @workspace_id AND e.tab = @tab AND e.created_at >= @since
    AND NOT EXISTS (SELECT 1 FROM edits u WHERE u.flow_id = e.flow_id AND u.tx_id = 'undo-' || e.tx_id)
ORDER BY e.rev DESC LIMIT @max_rows;
