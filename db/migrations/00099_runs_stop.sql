-- +goose Up

-- A run with stop_requested is canceled once its agents have ended their turns.
ALTER TABLE runs ADD COLUMN stop_requested BIGINT NOT NULL DEFAULT 0;
