-- name: InsertFile :exec
INSERT INTO files (id, workspace_id, name, mime, size, hash, key_id, kept, created_at, erased_at)
VALUES (@id, @workspace_id, @name, @mime, @size, @hash, @key_id, 0, @created_at, 0);

-- name: FindFile :one
SELECT * FROM files WHERE id = @id AND workspace_id = @workspace_id AND erased_at = 0;

-- name: FindFileAnywhere :one
SELECT * FROM files WHERE id = @id AND erased_at = 0;

-- name: KeepFile :exec
UPDATE files SET kept = 1 WHERE id = @id AND workspace_id = @workspace_id AND erased_at = 0;

-- Changes nothing. A transaction that erases a file or links it to a run locks
-- the row of the file first, so that the later of two transactions sees the
-- other.
-- name: HoldFile :execrows
UPDATE files SET kept = kept WHERE id = @id AND workspace_id = @workspace_id AND erased_at = 0;

-- name: HoldFilesOfRun :exec
UPDATE files SET kept = kept WHERE erased_at = 0 AND id IN (SELECT l.file_id FROM run_files l WHERE l.run_id = @run_id);

-- Changes nothing and locks the row; does not find a run whose content was erased.
-- name: HoldRunContent :execrows
UPDATE runs SET erased = erased WHERE id = @id AND workspace_id = @workspace_id AND erased = '';

-- name: EraseFile :one
UPDATE files SET erased_at = @erased_at, name = '' WHERE id = @id AND workspace_id = @workspace_id AND erased_at = 0
RETURNING size;

-- name: LinkFile :exec
INSERT INTO run_files (run_id, file_id, workspace_id) VALUES (@run_id, @file_id, @workspace_id)
ON CONFLICT (run_id, file_id) DO NOTHING;

-- name: LinkFilesOfRun :exec
INSERT INTO run_files (run_id, file_id, workspace_id)
SELECT CAST(@run_id AS TEXT), l.file_id, l.workspace_id FROM run_files l
WHERE l.run_id = @parent_run_id AND l.workspace_id = @workspace_id
ON CONFLICT (run_id, file_id) DO NOTHING;

-- name: ListUsesOfFile :many
SELECT r.flow_id, r.key_id FROM run_files l JOIN runs r ON r.id = l.run_id
WHERE l.file_id = @file_id AND l.workspace_id = @workspace_id
ORDER BY l.run_id DESC LIMIT @max_rows;

-- name: ListLooseFiles :many
SELECT f.id, f.workspace_id FROM files f
WHERE f.erased_at = 0 AND f.kept = 0 AND f.created_at <= @created_before
    AND f.id NOT IN (SELECT m.id FROM damaged_rows m WHERE m.table_name = 'files')
    AND NOT EXISTS (SELECT 1 FROM run_files l WHERE l.file_id = f.id)
ORDER BY f.created_at LIMIT @max_rows;

-- name: EraseLooseFile :one
UPDATE files SET erased_at = @erased_at, name = ''
WHERE id = @id AND erased_at = 0 AND kept = 0 AND NOT EXISTS (SELECT 1 FROM run_files l WHERE l.file_id = files.id)
RETURNING workspace_id, size;

-- name: ListErasedFiles :many
SELECT f.* FROM files f WHERE f.erased_at > 0
    AND f.id NOT IN (SELECT m.id FROM damaged_rows m WHERE m.table_name = 'files')
ORDER BY f.id LIMIT @max_rows;

-- name: DropFile :exec
DELETE FROM files WHERE id = @id AND erased_at > 0;

-- name: UnlinkFile :exec
DELETE FROM run_files WHERE file_id = @file_id;

-- name: FindLiveHash :one
SELECT id FROM files WHERE hash = @hash AND erased_at = 0 LIMIT 1;

-- name: FindHash :one
SELECT id FROM files WHERE hash = @hash LIMIT 1;

-- name: InsertUpload :exec
INSERT INTO uploads (id, touched_at) VALUES (@id, @touched_at);

-- name: TouchUpload :execrows
UPDATE uploads SET touched_at = @touched_at WHERE id = @id;

-- name: DeleteUpload :execrows
DELETE FROM uploads WHERE id = @id;

-- Ends an upload unless it was abandoned.
-- name: EndUpload :execrows
DELETE FROM uploads WHERE id = @id AND touched_at > 0;

-- Marks an upload whose content is to be removed.
-- name: AbandonUpload :execrows
UPDATE uploads SET touched_at = 0 WHERE id = @id AND touched_at <= @touched_before;

-- name: FindUpload :one
SELECT touched_at FROM uploads WHERE id = @id;

-- name: MoveBlob :execrows
UPDATE blobs SET upload_id = @upload_id WHERE hash = @hash AND upload_id = @moved_from;

-- name: ListBlobs :many
SELECT * FROM blobs WHERE hash > @after ORDER BY hash LIMIT @max_rows;

-- name: ListLiveHashes :many
SELECT DISTINCT hash FROM files WHERE erased_at = 0 AND hash > @after ORDER BY hash LIMIT @max_rows;

-- name: ListUploads :many
SELECT id FROM uploads WHERE touched_at < @touched_before ORDER BY touched_at LIMIT @max_rows;

-- name: InsertChunk :exec
INSERT INTO chunks (upload_id, number, data) VALUES (@upload_id, @number, @data);

-- name: FindChunk :one
SELECT data FROM chunks WHERE upload_id = @upload_id AND number = @number;

-- name: DeleteChunks :exec
DELETE FROM chunks WHERE upload_id = @upload_id;

-- Of two concurrent claims, the second waits for the first and gets its blob.
-- name: ClaimBlob :one
INSERT INTO blobs (hash, upload_id, size) VALUES (@hash, @upload_id, @size)
ON CONFLICT (hash) DO UPDATE SET size = excluded.size
RETURNING upload_id;

-- name: HoldBlob :execrows
UPDATE blobs SET size = size WHERE hash = @hash;

-- name: FindBlob :one
SELECT * FROM blobs WHERE hash = @hash;

-- name: DeleteBlob :exec
DELETE FROM blobs WHERE hash = @hash;
