-- +goose Up

-- The outputs of steps that are too large for their row, in parts of at most 1 MiB. The
-- row of the step has the mark "@" instead; see package parts.
CREATE TABLE step_parts (
    run_id  TEXT NOT NULL,
    path    TEXT NOT NULL,
    part    BIGINT NOT NULL, -- counted from 0
    content BYTEA NOT NULL,  -- of the outputs as JSON
    PRIMARY KEY (run_id, path, part)
);
