-- +goose Up

-- The keys that changed a trigger or know the secret of its URL. Its runs count as started by each of them, also after the
-- trigger was deleted, so that no program answers what it asked itself.
CREATE TABLE trigger_keys (
    trigger_id   TEXT NOT NULL,
    key_id       TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    PRIMARY KEY (trigger_id, key_id)
);
