-- +goose Up

-- The settings of knowledge bases are a file beside the workspace.
INSERT INTO companions (owner_id, name, workspace_id, rev, hash, applied_rev, source, changed_at)
SELECT DISTINCT k.workspace_id, 'knowledge', k.workspace_id, 1, '', 0, '', 0 FROM knowledge k;
