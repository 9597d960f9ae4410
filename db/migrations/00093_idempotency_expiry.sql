-- +goose NO TRANSACTION
-- +goose Up

-- Idempotency keys by when they expire, and those of earlier releases by age.
DROP INDEX CONCURRENTLY IF EXISTS idempotency_expiry;
CREATE INDEX CONCURRENTLY idempotency_expiry ON idempotency (expires_at, created_at);
