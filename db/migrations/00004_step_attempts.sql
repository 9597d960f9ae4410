-- The attempts of steps that needed more than one, newest last.

-- +goose Up
ALTER TABLE steps ADD COLUMN attempts TEXT NOT NULL DEFAULT '';
