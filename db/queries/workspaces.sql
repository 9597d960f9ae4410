-- name: InsertWorkspace :exec
INSERT INTO workspaces (id, name, max_running, max_queued, created_at)
VALUES (@id, @name, @max_running, @max_queued, @created_at)
ON CONFLICT (id) DO NOTHING;

-- name: FindWorkspace :one
SELECT * FROM workspaces WHERE id = @id;

-- name: SetWorkspaceLimits :execrows
UPDATE workspaces SET max_running = @max_running, max_queued = @max_queued WHERE id = @id;

-- name: FindMeta :one
SELECT value FROM meta WHERE name = @name;

-- name: InsertMeta :execrows
INSERT INTO meta (name, value) VALUES (@name, @value) ON CONFLICT (name) DO NOTHING;

-- name: RenameWorkspace :execrows
UPDATE workspaces SET name = @name WHERE id = @id;

-- name: HoldWorkspace :execrows
UPDATE workspaces SET name = name WHERE id = @id;

-- name: SaveMeta :exec
INSERT INTO meta (name, value) VALUES (@name, @value) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: TakeMeta :execrows
DELETE FROM meta WHERE name = @name AND value = @value;
