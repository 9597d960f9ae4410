-- +goose Up

-- What the checks of a verdict cost that ask a model or a flow: with recordings, and now.
ALTER TABLE verdicts ADD COLUMN judge_nano_usd BIGINT NOT NULL DEFAULT 0;
ALTER TABLE verdicts ADD COLUMN judge_spent_nano_usd BIGINT NOT NULL DEFAULT 0;

-- What people said of the verdicts of judges. judge is a hash of its model and its rubric; n is the repeat of the case.
CREATE TABLE judge_marks (
    test_id      TEXT NOT NULL,
    candidate    BIGINT NOT NULL,
    case_id      TEXT NOT NULL,
    n            BIGINT NOT NULL,
    check_label  TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    flow_id      TEXT NOT NULL,
    judge        TEXT NOT NULL,
    agrees       BIGINT NOT NULL,
    made_by      TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (test_id, candidate, case_id, n, check_label)
);
CREATE INDEX judge_marks_judge ON judge_marks (flow_id, judge);
