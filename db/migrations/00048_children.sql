-- +goose Up

-- A child run is started by a step of another run, its caller. Children of a step are
-- numbered by item; a step that is tried again starts the next round.
ALTER TABLE runs ADD COLUMN caller_run_id TEXT NOT NULL DEFAULT ''; -- empty for a root run
ALTER TABLE runs ADD COLUMN caller_path TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN caller_round BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN caller_item BIGINT NOT NULL DEFAULT 0;

-- The children of a step as a whole: what they run, how far they are, what they cost.
CREATE TABLE children (
    run_id        TEXT NOT NULL, -- of the caller
    path          TEXT NOT NULL,
    round         BIGINT NOT NULL,
    workspace_id  TEXT NOT NULL,
    root_run_id   TEXT NOT NULL,
    depth         BIGINT NOT NULL, -- of the children: 1 below a root run
    flow_id       TEXT NOT NULL,   -- of the children
    document_hash TEXT NOT NULL,
    template      TEXT NOT NULL,   -- what all children have in common, as JSON
    concurrency   BIGINT NOT NULL,
    keep_errors   BIGINT NOT NULL, -- 1: a failed item does not stop the others
    total         BIGINT NOT NULL, -- -1 until all items are stored
    pending       BIGINT NOT NULL, -- items that have not started
    running       BIGINT NOT NULL,
    succeeded     BIGINT NOT NULL, -- reused results included
    failed        BIGINT NOT NULL, -- canceled items included
    reused        BIGINT NOT NULL,
    stopped       BIGINT NOT NULL, -- 1: the pending items never start
    seen          BIGINT NOT NULL, -- 1 once the step knows that it need not wait any longer
    input_tokens     BIGINT NOT NULL, -- these are sums over the ended children and their children
    output_tokens    BIGINT NOT NULL,
    cached_tokens    BIGINT NOT NULL,
    reasoning_tokens BIGINT NOT NULL,
    unpriced_steps   BIGINT NOT NULL,
    cost_nano_usd    BIGINT NOT NULL,
    PRIMARY KEY (run_id, path, round)
);

-- Items that have no child run: those that wait for one, those whose inputs are wrong,
-- and those whose result is taken from the run that is repeated.
CREATE TABLE child_items (
    run_id TEXT NOT NULL,
    path   TEXT NOT NULL,
    round  BIGINT NOT NULL,
    item   BIGINT NOT NULL,
    inputs TEXT NOT NULL,
    error  TEXT NOT NULL, -- why the item cannot start, as JSON
    reused TEXT NOT NULL, -- ID of the run that has the result
    PRIMARY KEY (run_id, path, round, item)
);
