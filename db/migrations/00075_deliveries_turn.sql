-- +goose NO TRANSACTION
-- +goose Up

-- The deliveries that wait at each endpoint, those with the fewest attempts first.
DROP INDEX CONCURRENTLY IF EXISTS deliveries_turn;
CREATE INDEX CONCURRENTLY deliveries_turn ON deliveries (place, workspace_id, endpoint_id, attempt, position) WHERE place > 0;
DROP INDEX CONCURRENTLY IF EXISTS endpoints_hostname;
CREATE INDEX CONCURRENTLY endpoints_hostname ON endpoints (workspace_id, hostname);
