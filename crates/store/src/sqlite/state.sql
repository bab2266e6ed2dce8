-- Every row of every table has a checksum (`sum`), the last column that belongs to its key and values: see row_sum.rs.

-- `sum` is null for `schema`, which is written before the rest.
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value,
    sum   INTEGER
) WITHOUT ROWID;
INSERT INTO meta (key, value, sum) VALUES ('position', 0, row_sum('meta', 'position', 0));

-- Names that occur in many rows, each once. Never deleted: readers remember them.
CREATE TABLE name (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE,
    sum  INTEGER NOT NULL
);

CREATE TABLE entity (
    row        INTEGER PRIMARY KEY,
    lifecycle  INTEGER NOT NULL,
    id         TEXT NOT NULL,
    state      INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    definition INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    last       INTEGER NOT NULL,
    entered_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    overdue_at INTEGER,
    timers     TEXT,
    effects    TEXT,
    indexed    TEXT,
    sum        INTEGER NOT NULL,
    body       TEXT NOT NULL,
    body_sum   INTEGER NOT NULL,
    UNIQUE (lifecycle, id)
);
CREATE INDEX entity_by_state ON entity (lifecycle, state, id);
CREATE INDEX entity_overdue ON entity (lifecycle, overdue_at) WHERE overdue_at IS NOT NULL;

CREATE TABLE state_count (
    lifecycle INTEGER NOT NULL,
    state     INTEGER NOT NULL,
    n         INTEGER NOT NULL,
    sum       INTEGER NOT NULL,
    PRIMARY KEY (lifecycle, state)
) WITHOUT ROWID;

CREATE TABLE timer (
    due       INTEGER NOT NULL,
    lifecycle TEXT NOT NULL,
    id        TEXT NOT NULL,
    name      TEXT NOT NULL,
    sum       INTEGER NOT NULL,
    PRIMARY KEY (due, lifecycle, id, name)
) WITHOUT ROWID;

CREATE TABLE effect (
    id        INTEGER PRIMARY KEY,
    effect    TEXT NOT NULL,
    lifecycle TEXT NOT NULL,
    entity    TEXT NOT NULL,
    sum       INTEGER NOT NULL
);

CREATE TABLE field (
    lifecycle INTEGER NOT NULL,
    field     INTEGER NOT NULL,
    value     TEXT NOT NULL,
    id        TEXT NOT NULL,
    sum       INTEGER NOT NULL,
    PRIMARY KEY (lifecycle, field, value, id)
) WITHOUT ROWID;

CREATE TABLE "group" (
    row       INTEGER PRIMARY KEY,
    lifecycle INTEGER NOT NULL,
    id        TEXT NOT NULL,
    name      INTEGER NOT NULL,
    counts    TEXT NOT NULL,
    moved_at  INTEGER NOT NULL,
    sum       INTEGER NOT NULL,
    UNIQUE (lifecycle, id, name)
);

CREATE TABLE member (
    "group" INTEGER NOT NULL,
    entity  INTEGER NOT NULL,
    sum     INTEGER NOT NULL,
    PRIMARY KEY ("group", entity)
) WITHOUT ROWID;

CREATE TABLE place (
    lifecycle INTEGER NOT NULL,
    ranking   INTEGER NOT NULL,
    id        TEXT NOT NULL,
    within    TEXT NOT NULL,
    meant_for TEXT,
    weights   TEXT NOT NULL,
    since     INTEGER NOT NULL,
    sum       INTEGER NOT NULL,
    PRIMARY KEY (lifecycle, ranking, id)
) WITHOUT ROWID;

CREATE TABLE "order" (
    lifecycle INTEGER NOT NULL,
    ranking   INTEGER NOT NULL,
    within    TEXT NOT NULL,
    n         INTEGER NOT NULL,
    closed    INTEGER NOT NULL DEFAULT 0,
    sum       INTEGER NOT NULL,
    PRIMARY KEY (lifecycle, ranking, within)
) WITHOUT ROWID;

CREATE TABLE same (
    lifecycle INTEGER NOT NULL,
    value     TEXT NOT NULL,
    id        TEXT NOT NULL,
    sum       INTEGER NOT NULL,
    PRIMARY KEY (lifecycle, value)
) WITHOUT ROWID;

-- Rows are looked up by key and actor, and their neighbours are verified: see guarded_lookup.rs.
CREATE TABLE key (
    key         TEXT NOT NULL,
    actor       TEXT NOT NULL,
    seq         INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    entries     INTEGER NOT NULL,
    root        INTEGER NOT NULL,
    sum         INTEGER NOT NULL,
    PRIMARY KEY (key, actor)
) WITHOUT ROWID;
-- The oldest are at one end.
CREATE INDEX key_by_seq ON key (seq);

CREATE TABLE notice (
    kind   TEXT NOT NULL,
    seq    INTEGER NOT NULL,
    entity TEXT NOT NULL,
    sum    INTEGER NOT NULL,
    PRIMARY KEY (kind, seq)
) WITHOUT ROWID;

CREATE TABLE stay (
    lifecycle INTEGER NOT NULL,
    state     INTEGER NOT NULL,
    bucket    INTEGER NOT NULL,
    n         INTEGER NOT NULL,
    total_ms  INTEGER NOT NULL,
    sum       INTEGER NOT NULL,
    PRIMARY KEY (lifecycle, state, bucket)
) WITHOUT ROWID;

-- The same for people.
CREATE VIEW entities AS
SELECT
    lifecycle.text AS lifecycle, entity.id AS id, state.text AS state, entity.version AS version,
    entity.definition AS definition, entity.seq AS seq, entity.last AS last,
    strftime('%Y-%m-%dT%H:%M:%fZ', entity.entered_at / 1000.0, 'unixepoch') AS entered_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', entity.updated_at / 1000.0, 'unixepoch') AS updated_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', entity.overdue_at / 1000.0, 'unixepoch') AS overdue_at,
    json_extract(entity.body, '$.fields') AS fields
FROM entity
JOIN name AS lifecycle ON lifecycle.id = entity.lifecycle
JOIN name AS state ON state.id = entity.state;

CREATE VIEW timers AS
SELECT strftime('%Y-%m-%dT%H:%M:%fZ', due / 1000.0, 'unixepoch') AS due, lifecycle, id, name FROM timer;

CREATE VIEW states AS
SELECT lifecycle.text AS lifecycle, state.text AS state, state_count.n AS n
FROM state_count
JOIN name AS lifecycle ON lifecycle.id = state_count.lifecycle
JOIN name AS state ON state.id = state_count.state;

CREATE VIEW groups AS
SELECT
    lifecycle.text AS lifecycle, "group".id AS id, name.text AS name, "group".counts AS counts,
    strftime('%Y-%m-%dT%H:%M:%fZ', "group".moved_at / 1000.0, 'unixepoch') AS moved_at
FROM "group"
JOIN name AS lifecycle ON lifecycle.id = "group".lifecycle
JOIN name ON name.id = "group".name;

CREATE VIEW members AS
SELECT
    owner.text AS lifecycle, "group".id AS id, name.text AS name,
    lifecycle.text AS member_lifecycle, entity.id AS member, state.text AS state
FROM member
JOIN "group" ON "group".row = member."group"
JOIN entity ON entity.row = member.entity
JOIN name AS owner ON owner.id = "group".lifecycle
JOIN name ON name.id = "group".name
JOIN name AS lifecycle ON lifecycle.id = entity.lifecycle
JOIN name AS state ON state.id = entity.state;

CREATE VIEW places AS
SELECT
    lifecycle.text AS lifecycle, ranking.text AS ranking, place.id AS id, place.within AS within,
    place.meant_for AS meant_for, place.weights AS weights, "order".closed AS closed
FROM place
JOIN "order" USING (lifecycle, ranking, within)
JOIN name AS lifecycle ON lifecycle.id = place.lifecycle
JOIN name AS ranking ON ranking.id = place.ranking;

CREATE VIEW stays AS
SELECT
    lifecycle.text AS lifecycle, state.text AS state, sum(stay.n) AS n,
    sum(stay.total_ms) / sum(stay.n) AS mean_ms
FROM stay
JOIN name AS lifecycle ON lifecycle.id = stay.lifecycle
JOIN name AS state ON state.id = stay.state
GROUP BY lifecycle.text, state.text;

CREATE VIEW fields AS
SELECT lifecycle.text AS lifecycle, field.text AS field, value.value AS value, value.id AS id
FROM field AS value
JOIN name AS lifecycle ON lifecycle.id = value.lifecycle
JOIN name AS field ON field.id = value.field;
