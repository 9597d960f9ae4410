-- +goose Up

-- Limits in dollars that do not reset: of a run with everything below it (path is empty), or of the steps inside
-- of its step at path. spent includes lost, the estimates of calls whose bill is unknown. Running steps
-- reserve in their own rows.
CREATE TABLE run_budgets (
    run_id         TEXT NOT NULL,
    path           TEXT NOT NULL,
    max_nano_usd   BIGINT NOT NULL,
    spent_nano_usd BIGINT NOT NULL,
    lost_nano_usd  BIGINT NOT NULL,
    PRIMARY KEY (run_id, path)
);

-- budgets names those that a run counts against: each between two spaces.
ALTER TABLE runs ADD COLUMN max_nano_usd BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN budgets TEXT NOT NULL DEFAULT '';
