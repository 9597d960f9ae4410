-- +goose Up

-- When the hosts of a credential were decided, in microseconds: by the person who
-- saved it, or by the step that binds older credentials to the hosts that flows
-- use them for. 0 until then.
ALTER TABLE credentials ADD COLUMN bound_at BIGINT NOT NULL DEFAULT 0;
