-- The entries by which versions of packs came into force, without payloads, each with the hash before it: they stay
-- when the journal is archived.
CREATE TABLE installed (
    seq    INTEGER PRIMARY KEY,
    prev   INTEGER NOT NULL,
    format INTEGER NOT NULL,
    header TEXT NOT NULL,
    digest BLOB,
    hash   BLOB NOT NULL,
    before BLOB NOT NULL
);

INSERT INTO installed (seq, prev, format, header, digest, hash, before)
SELECT
    seq, prev, format, header, digest, hash,
    coalesce(
        (SELECT earlier.hash FROM journal AS earlier WHERE earlier.seq = journal.seq - 1),
        (SELECT value FROM meta WHERE key = 'base_hash'),
        zeroblob(32)
    )
FROM journal
WHERE instr(header, '"PackInstalled":') > 0;

-- Entries archived before this migration must be read once.
INSERT INTO meta (key, value)
SELECT 'recall', value FROM meta WHERE key = 'base_seq';
