-- +goose Up

-- Estimates of calls whose bill is unknown, which count against the budgets in dollars of a
-- UTC day. The subject is the ID of a key or of a flow.
CREATE TABLE lost_spending (
    workspace_id TEXT NOT NULL,
    subject      TEXT NOT NULL,
    day          TEXT NOT NULL, -- 2006-01-02
    nano_usd     BIGINT NOT NULL,
    PRIMARY KEY (day, workspace_id, subject)
);
