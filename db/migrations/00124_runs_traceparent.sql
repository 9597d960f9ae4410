-- +goose Up

-- The W3C trace context that a run belongs to: the header traceparent of the request that started it, or that of the step
-- that started a child run. Empty: the run begins a trace, if one is written at all.
ALTER TABLE runs ADD COLUMN traceparent TEXT NOT NULL DEFAULT '';
