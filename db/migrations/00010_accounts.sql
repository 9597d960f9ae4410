-- +goose Up

-- Entries of the audit log form one chain per workspace. seq counts them from 1;
-- mac authenticates an entry together with the mac of the entry before it, in
-- hex, under the key that key_no names. An entry with seq 0 is not in the chain.
ALTER TABLE audit ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;
ALTER TABLE audit ADD COLUMN mac TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN key_no BIGINT NOT NULL DEFAULT 0;
CREATE INDEX audit_seq ON audit (workspace_id, seq);

-- Where a chain starts and ends. Entries up to start_seq were deleted when their
-- retention ended; start_mac is the mac of the last of those. The first entries,
-- adopted in number, are older than the chain. mac authenticates the row.
CREATE TABLE audit_chains (
    workspace_id TEXT NOT NULL PRIMARY KEY,
    began_at     BIGINT NOT NULL,
    adopted      BIGINT NOT NULL,
    start_seq    BIGINT NOT NULL,
    start_mac    TEXT NOT NULL,
    pruned_at    BIGINT NOT NULL,
    last_seq     BIGINT NOT NULL,
    last_mac     TEXT NOT NULL,
    key_no       BIGINT NOT NULL,
    mac          TEXT NOT NULL
);

-- Password reset links expire after one hour, including existing ones.
UPDATE invites SET expires_at = created_at + 3600000000
WHERE user_id <> '' AND expires_at > created_at + 3600000000;
