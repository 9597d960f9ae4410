-- +goose Up

-- The secret of a webhook's URL that was replaced works until old_until, a time. Requests until capture_until are kept with their
-- bodies.
ALTER TABLE triggers ADD COLUMN old_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE triggers ADD COLUMN old_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE triggers ADD COLUMN capture_until BIGINT NOT NULL DEFAULT 0;
CREATE INDEX triggers_old_token ON triggers (old_hash) WHERE old_hash <> '';

-- The length of request.
ALTER TABLE events ADD COLUMN request_bytes BIGINT NOT NULL DEFAULT 0;
