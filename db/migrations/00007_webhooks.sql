-- +goose Up

-- place is the state of a delivery in the queue, as for runs: 0 ended; 1 due
-- and waiting for a free slot of its endpoint; 2 held by a worker or its job; 3
-- waiting until due_at. position orders the log: it is a time-ordered ID
-- created with the row. The delivery's own ID is derived from its run and node
-- and has no creation time. signer is the ID of the owner of the signing
-- secret: a row of webhook_secrets or a key; empty means the flow.
ALTER TABLE deliveries ADD COLUMN place BIGINT NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN position TEXT NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN signer TEXT NOT NULL DEFAULT '';
UPDATE deliveries SET position = id;
UPDATE deliveries SET place = CASE WHEN due_at > 0 THEN 3 ELSE 2 END WHERE ended_at = 0;

DROP INDEX deliveries_list;
DROP INDEX deliveries_endpoint;
CREATE INDEX deliveries_position ON deliveries (position);
CREATE INDEX deliveries_list ON deliveries (workspace_id, flow_id, position);
CREATE INDEX deliveries_endpoint ON deliveries (endpoint_id, state, position);
CREATE INDEX deliveries_line ON deliveries (place, workspace_id, endpoint_id, position) WHERE place > 0;

-- How an endpoint has responded determines how many attempts it gets at once:
-- failures counts failed attempts since the last success, proven is 1 once an
-- attempt succeeded, slow is 1 when the last success took long, and no attempt
-- begins before paused_until.
ALTER TABLE endpoints ADD COLUMN failures BIGINT NOT NULL DEFAULT 0;
ALTER TABLE endpoints ADD COLUMN proven BIGINT NOT NULL DEFAULT 0;
ALTER TABLE endpoints ADD COLUMN slow BIGINT NOT NULL DEFAULT 0;
ALTER TABLE endpoints ADD COLUMN paused_until BIGINT NOT NULL DEFAULT 0;
UPDATE endpoints SET proven = 1 WHERE failing_since = 0;

-- Signing secrets of webhook nodes, one per node and host of its URL; host is
-- empty if the URL comes by an edge or a template. A row that inherits has no
-- secret of its own yet and uses the flow's.
CREATE TABLE webhook_secrets (
    id             TEXT NOT NULL PRIMARY KEY,
    workspace_id   TEXT NOT NULL,
    flow_id        TEXT NOT NULL,
    node           TEXT NOT NULL,
    host           TEXT NOT NULL,
    inherits       BIGINT NOT NULL,
    signing        BYTEA NOT NULL,
    signing_before BYTEA NOT NULL,
    created_at     BIGINT NOT NULL,
    UNIQUE (workspace_id, flow_id, node, host)
);

-- Signs webhooks in run_options.webhook without a secret, for runs that the key
-- starts. Empty until it is first needed.
ALTER TABLE keys ADD COLUMN webhook_secret BYTEA NOT NULL DEFAULT '';
