-- A hand-written schema for tasks with states, a journal, idempotency keys and deadlines.
-- The fill factor leaves room on pages for updates in place, which makes PostgreSQL faster.
CREATE TABLE entity (
  id      bigint PRIMARY KEY,
  state   text NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  fields  jsonb NOT NULL,
  updated timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE TABLE journal (
  seq        bigserial PRIMARY KEY,
  entity     bigint NOT NULL,
  version    bigint NOT NULL,
  event      text NOT NULL,
  from_state text NOT NULL,
  to_state   text NOT NULL,
  actor      text NOT NULL,
  at         timestamptz NOT NULL DEFAULT now(),
  payload    jsonb NOT NULL
);
CREATE TABLE command_key (
  actor  text NOT NULL,
  key    text NOT NULL,
  entity bigint NOT NULL,
  at     timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (actor, key)
);
CREATE TABLE timer (
  entity bigint NOT NULL,
  name   text NOT NULL,
  due    timestamptz NOT NULL,
  PRIMARY KEY (entity, name)
) WITH (fillfactor = 50);
CREATE INDEX timer_due ON timer (due);
INSERT INTO entity (id, state, fields)
  SELECT it, 'assigned', jsonb_build_object(
    'title', 'Task ' || it, 'description', repeat('What is to be done, in words. ', 6), 'type', 'build',
    'priority', 3, 'assigneeIds', jsonb_build_array('ada', 'bob'), 'reviewerId', 'eve', 'reviewCycles', 0,
    'costSummary', jsonb_build_object('totalCost', 0, 'runCount', 0, 'tokenCount', 0))
  FROM generate_series(1, :entities) AS it;
VACUUM ANALYZE entity;
