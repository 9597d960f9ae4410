-- +goose Up

-- Where other instances reach this one for the text of runs that it works on,
-- as IP:PORT; empty where SLUICE_PEER_ADDR is not set.
ALTER TABLE instances ADD COLUMN peer_addr TEXT NOT NULL DEFAULT '';
