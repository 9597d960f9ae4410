-- +goose Up

-- An endpoint is where a webhook node, or the webhooks of a flow's runs, send
-- to on one host. It is made with its first delivery. The log is read by it:
-- one index serves every list, however it is narrowed.
CREATE TABLE endpoints (
    id            TEXT NOT NULL PRIMARY KEY,
    workspace_id  TEXT NOT NULL,
    flow_id       TEXT NOT NULL,
    node          TEXT NOT NULL,
    host          TEXT NOT NULL,
    failing_since BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    UNIQUE (workspace_id, flow_id, node, host)
);
CREATE INDEX endpoints_host ON endpoints (workspace_id, host);
CREATE INDEX endpoints_failing ON endpoints (workspace_id, failing_since) WHERE failing_since > 0;

ALTER TABLE deliveries ADD COLUMN endpoint_id TEXT NOT NULL DEFAULT '';
ALTER TABLE delivery_attempts ADD COLUMN signature TEXT NOT NULL DEFAULT '';
ALTER TABLE delivery_attempts ADD COLUMN cause TEXT NOT NULL DEFAULT '';

-- The host of an older delivery is what stands between the scheme and the first
-- of / ? and #. Trimming from the left all letters but these leaves the rest.
INSERT INTO endpoints (id, workspace_id, flow_id, node, host, failing_since, created_at)
SELECT 'end_' || substr(min(o.id), 5), o.workspace_id, o.flow_id, o.node, o.host, 0, min(o.created_at)
FROM (
    SELECT r.id, r.workspace_id, r.flow_id, r.node, r.created_at,
        lower(substr(r.rest, 1, length(r.rest) - length(ltrim(r.rest, replace(replace(replace(r.rest, '/', ''), '?', ''), '#', ''))))) AS host
    FROM (SELECT d.*, substr(d.url, CASE WHEN lower(substr(d.url, 1, 8)) = 'https://' THEN 9 ELSE 8 END) AS rest FROM deliveries d) r
) o
GROUP BY o.workspace_id, o.flow_id, o.node, o.host;

UPDATE deliveries SET endpoint_id = (
    SELECT e.id FROM endpoints e
    JOIN (
        SELECT r.id, lower(substr(r.rest, 1, length(r.rest) - length(ltrim(r.rest, replace(replace(replace(r.rest, '/', ''), '?', ''), '#', ''))))) AS host
        FROM (SELECT d.id, substr(d.url, CASE WHEN lower(substr(d.url, 1, 8)) = 'https://' THEN 9 ELSE 8 END) AS rest FROM deliveries d) r
    ) o ON o.host = e.host
    WHERE o.id = deliveries.id AND e.workspace_id = deliveries.workspace_id AND e.flow_id = deliveries.flow_id AND e.node = deliveries.node);
CREATE INDEX deliveries_endpoint ON deliveries (endpoint_id, state, id);

-- Secrets that were replaced sign beside the present one for a while: a sealed
-- list, empty for none.
ALTER TABLE flows ADD COLUMN signing_before BYTEA NOT NULL DEFAULT '';
ALTER TABLE credentials ADD COLUMN signing_before BYTEA NOT NULL DEFAULT '';
