-- +goose Up

-- Which values of a run come from outside: a sum of 1 for inputs and 2 for outputs. Of a step: whether its outputs do.
ALTER TABLE runs ADD COLUMN untrusted BIGINT NOT NULL DEFAULT 0;
ALTER TABLE steps ADD COLUMN untrusted BIGINT NOT NULL DEFAULT 0;
