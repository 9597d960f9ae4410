-- name: InsertFile :exec
INSERT INTO files (id, workspace_id, name, mime, size, hash, key_id, kept, created_at, erased_at)
VALUES (@id, @workspace_id, @name, @mime, @size, @hash, @key_id, 0, @created_at, 0);

-- name: FindFile :one
SELECT * FROM files WHERE id = @id AND workspace_id = @workspace_id AND erased_at = 0;

-- name: EraseFile :execrows
UPDATE files SET erased_at = @erased_at, name = '' WHERE id = @id AND workspace_id = @workspace_id AND erased_at = 0;

-- name: LinkFile :exec
INSERT INTO run_files (run_id, file_id, workspace_id) VALUES (@run_id, @file_id, @workspace_id)
ON CONFLICT (run_id, file_id) DO NOTHING;

-- name: EraseFilesOfRun :exec
UPDATE files SET erased_at = @erased_at, name = ''
WHERE erased_at = 0 AND id IN (SELECT l.file_id FROM run_files l WHERE l.run_id = @run_id)
    AND NOT EXISTS (SELECT 1 FROM run_files o WHERE o.file_id = files.id AND o.run_id <> @run_id);

-- name: UnlinkFiles :exec
DELETE FROM run_files WHERE run_id = @run_id;

-- name: ListErasedFiles :many
SELECT * FROM files WHERE erased_at > 0 ORDER BY id LIMIT @max_rows;

-- name: DropFile :exec
DELETE FROM files WHERE id = @id AND erased_at > 0;
