-- +goose Up

CREATE INDEX tests_set ON tests (workspace_id, set_hash);

-- The runs whose content is in a version of cases that only a backtest ran: it is erased with them.
CREATE TABLE backtest_runs (
    run_id       TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    set_hash     TEXT NOT NULL,
    PRIMARY KEY (run_id, workspace_id, set_hash)
);
CREATE INDEX backtest_runs_set ON backtest_runs (workspace_id, set_hash);
