-- +goose Up

-- A key that is rolled stays the same key with a new text, so its runs, files,
-- limits and budgets go on; previous_ is the text before, which works beside
-- the new one until a time. Its uses are those since the roll.
ALTER TABLE keys ADD COLUMN runs_per_day BIGINT NOT NULL DEFAULT 0;
ALTER TABLE keys ADD COLUMN rolled_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE keys ADD COLUMN previous_prefix TEXT NOT NULL DEFAULT '';
ALTER TABLE keys ADD COLUMN previous_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE keys ADD COLUMN previous_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE keys ADD COLUMN previous_used_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE keys ADD COLUMN previous_used_ip TEXT NOT NULL DEFAULT '';
ALTER TABLE keys ADD COLUMN previous_uses BIGINT NOT NULL DEFAULT 0;
CREATE INDEX keys_previous ON keys (previous_hash);
CREATE INDEX keys_expiry ON keys (expires_at);
CREATE INDEX keys_list ON keys (workspace_id, id);
