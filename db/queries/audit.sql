-- name: InsertAudit :exec
INSERT INTO audit (id, workspace_id, actor, action, target, detail, ip, created_at, seq, mac, key_no)
VALUES (@id, @workspace_id, @actor, @action, @target, @detail, @ip, @created_at, @seq, @mac, @key_no);

-- name: ListAudit :many
SELECT a.*, CAST(COALESCE(u.name, k.name, '') AS TEXT) AS person FROM audit a
LEFT JOIN users u ON u.id = a.actor
LEFT JOIN keys k ON k.id = a.actor AND k.workspace_id = a.workspace_id
WHERE a.workspace_id = @workspace_id AND a.id < @before_id ORDER BY a.id DESC LIMIT @max_rows;

-- name: ListAuditAfter :many
SELECT a.*, CAST(COALESCE(u.name, k.name, '') AS TEXT) AS person FROM audit a
LEFT JOIN users u ON u.id = a.actor
LEFT JOIN keys k ON k.id = a.actor AND k.workspace_id = a.workspace_id
WHERE a.workspace_id = @workspace_id AND a.id > @after_id ORDER BY a.id LIMIT @max_rows;

-- HoldAuditChain takes the next number of a chain and locks the chain until the
-- transaction ends.
-- name: HoldAuditChain :one
UPDATE audit_chains SET last_seq = last_seq + 1 WHERE workspace_id = @workspace_id RETURNING *;

-- name: InsertAuditChain :execrows
INSERT INTO audit_chains (workspace_id, began_at, adopted, start_seq, start_mac, pruned_at, last_seq, last_mac, key_no, mac)
VALUES (@workspace_id, @began_at, 0, 0, '', 0, 0, '', @key_no, @mac)
ON CONFLICT (workspace_id) DO NOTHING;

-- name: SaveAuditChain :exec
UPDATE audit_chains SET adopted = @adopted, start_seq = @start_seq, start_mac = @start_mac, pruned_at = @pruned_at,
    last_seq = @last_seq, last_mac = @last_mac, key_no = @key_no, mac = @mac
WHERE workspace_id = @workspace_id;

-- name: ListAuditChains :many
SELECT * FROM audit_chains ORDER BY workspace_id;

-- name: ListAuditChain :many
SELECT * FROM audit WHERE workspace_id = @workspace_id AND seq > @after_seq ORDER BY seq LIMIT @max_rows;

-- name: CountAuditChain :one
SELECT count(*) FROM audit WHERE workspace_id = @workspace_id AND seq > @after_seq;

-- ListAuditUnchained lists entries that are in no chain, in the order in which
-- they were created.
-- name: ListAuditUnchained :many
SELECT * FROM audit WHERE workspace_id = @workspace_id AND seq = 0 AND id > @after_id ORDER BY id LIMIT @max_rows;

-- name: ListAuditWorkspaces :many
SELECT DISTINCT workspace_id FROM audit ORDER BY workspace_id;

-- ListAuditDue lists the workspaces whose oldest entry is too old.
-- name: ListAuditDue :many
SELECT c.workspace_id FROM audit_chains c
WHERE EXISTS (SELECT 1 FROM audit a WHERE a.workspace_id = c.workspace_id AND a.seq = c.start_seq + 1 AND a.created_at < @made_before)
ORDER BY c.workspace_id LIMIT @max_rows;

-- HoldAuditStart locks a chain until the transaction ends.
-- name: HoldAuditStart :one
UPDATE audit_chains SET start_seq = start_seq WHERE workspace_id = @workspace_id RETURNING *;

-- name: DeleteAudit :exec
DELETE FROM audit WHERE workspace_id = @workspace_id AND seq > 0 AND seq <= @up_to_seq;
