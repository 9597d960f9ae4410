-- +goose Up

-- When the hosts of a credential were set, in microseconds: by the user who
-- saved it, or by the upgrade step that binds older credentials to the hosts
-- that flows send them to. 0 until then.
ALTER TABLE credentials ADD COLUMN bound_at BIGINT NOT NULL DEFAULT 0;
