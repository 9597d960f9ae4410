-- +goose Up

-- What a test found, without its cases, as JSON: lists of tests show it. '' until it was counted after the end of the test.
ALTER TABLE tests ADD COLUMN digest TEXT NOT NULL DEFAULT '';
