-- +goose Up

-- The flows above a child run, from the top: their IDs, each between two spaces.
ALTER TABLE runs ADD COLUMN flows_above TEXT NOT NULL DEFAULT '';

-- 1: a rerun whose steps run the version of other flows that is live now.
ALTER TABLE runs ADD COLUMN children_live BIGINT NOT NULL DEFAULT 0;

-- What child runs have cost on a UTC day, once for each flow above them; usage_daily has
-- it for the flow of the child itself. A cost may be added to any part, so that
-- transactions seldom wait for each other.
CREATE TABLE spent_below (
    workspace_id  TEXT NOT NULL,
    flow_id       TEXT NOT NULL,
    day           TEXT NOT NULL, -- 2006-01-02
    part          BIGINT NOT NULL,
    cost_nano_usd BIGINT NOT NULL,
    PRIMARY KEY (day, workspace_id, flow_id, part)
);
