-- +goose Up

-- What an instance understands, as names between spaces; see flow.Features. Empty for
-- instances of earlier releases.
ALTER TABLE instances ADD COLUMN features TEXT NOT NULL DEFAULT '';

-- An endpoint is one URL. host tells the endpoints of a node apart: it is the host and
-- a hash of the URL, and for endpoints of earlier releases only the host. hostname is
-- the host, and empty for endpoints of earlier releases.
ALTER TABLE endpoints ADD COLUMN hostname TEXT NOT NULL DEFAULT '';

-- Rows that background work cannot read, or whose processing fails because of what is
-- stored in them. It passes over them, and tries them again after a day.
CREATE TABLE damaged_rows (
    table_name TEXT NOT NULL,
    id         TEXT NOT NULL,
    task       TEXT NOT NULL, -- what failed, such as "erase expired runs"
    error      TEXT NOT NULL,
    found_at   BIGINT NOT NULL,
    PRIMARY KEY (table_name, id)
);
