-- +goose Up

-- What a flow may use on a UTC day: runs accepted, and nano-dollars.
ALTER TABLE flows ADD COLUMN runs_per_day BIGINT NOT NULL DEFAULT 0;
ALTER TABLE flows ADD COLUMN usd_per_day BIGINT NOT NULL DEFAULT 0;

-- How many runs were accepted on the newest UTC day, of each flow and key that
-- may have only so many; subject is the ID of either. Those without such a
-- budget have no row, so that starting their runs writes nothing more.
CREATE TABLE day_starts (
    workspace_id TEXT NOT NULL,
    subject      TEXT NOT NULL,
    day          TEXT NOT NULL, -- 2006-01-02
    runs         BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, subject)
);

-- The primary key serves what a key has cost on a day; this, what a flow has.
CREATE INDEX usage_daily_flow ON usage_daily (workspace_id, flow_id, day);
