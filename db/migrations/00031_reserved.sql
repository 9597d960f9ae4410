-- +goose NO TRANSACTION
-- +goose Up

-- Steps that reserve a part of a budget: few at a time.
DROP INDEX CONCURRENTLY IF EXISTS steps_reserved;
CREATE INDEX CONCURRENTLY steps_reserved ON steps (workspace_id, reserved_day) WHERE reserved > 0;
