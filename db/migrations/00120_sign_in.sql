-- +goose Up

-- The people of identity providers, and which users they are. A provider identifies a person by its issuer and a subject, never by
-- an address.
CREATE TABLE identities (
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    used_at    BIGINT NOT NULL, -- the last sign-in
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_user ON identities (user_id);

-- The second factors of users who sign in with a password. id is the ID of the user. last_step is the newest time step whose code was
-- used, so that no code works twice. recovery has hashes of the codes that are left, as JSON. confirmed_at is 0 until the user has
-- entered a first code.
CREATE TABLE second_factors (
    id           TEXT NOT NULL PRIMARY KEY,
    secret       BYTEA NOT NULL, -- encrypted
    last_step    BIGINT NOT NULL,
    recovery     TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    confirmed_at BIGINT NOT NULL
);
