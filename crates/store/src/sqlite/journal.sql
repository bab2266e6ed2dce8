CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value
) WITHOUT ROWID;

-- One row per entry, appended and never changed, but for payloads that are dropped.
CREATE TABLE journal (
    seq     INTEGER PRIMARY KEY,
    prev    INTEGER NOT NULL,
    format  INTEGER NOT NULL,
    header  TEXT NOT NULL,
    payload TEXT,
    digest  BLOB,
    hash    BLOB NOT NULL
);

CREATE TABLE definition (
    pack    TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest  TEXT NOT NULL,
    files   TEXT NOT NULL,
    PRIMARY KEY (pack, version)
);
