-- One statement: the key, the guarded move, the timer and the journal entry, in one round trip.
\set id random(1, :entities)
\set key random(1, 9000000000000000)
WITH fresh AS (
  INSERT INTO command_key (actor, key, entity) VALUES ('ada', :key::text, :id)
  ON CONFLICT DO NOTHING RETURNING entity
), was AS (
  SELECT it.id, it.state FROM entity it JOIN fresh ON it.id = fresh.entity
  WHERE it.state IN ('assigned', 'working') AND it.fields -> 'assigneeIds' ? 'ada'
    AND (it.fields ->> 'reviewCycles')::int < 3
  FOR UPDATE OF it
), moved AS (
  UPDATE entity it SET
    state = CASE was.state WHEN 'assigned' THEN 'working' ELSE 'assigned' END,
    version = it.version + 1,
    fields = it.fields || '{"workPlan": {"bullets": ["Read what there is", "Write the smallest thing that works", "Test it, and show the result"], "estimatedCost": 0.4}}'::jsonb,
    updated = now()
  FROM was WHERE it.id = was.id
  RETURNING it.id, it.version, was.state AS from_state, it.state AS to_state
), timed AS (
  INSERT INTO timer (entity, name, due) SELECT id, 'deadline', now() + interval '4 hours' FROM moved
  ON CONFLICT (entity, name) DO UPDATE SET due = excluded.due
)
INSERT INTO journal (entity, version, event, from_state, to_state, actor, payload)
  SELECT id, version, 'moved', from_state, to_state, 'ada',
    '{"workPlan": {"bullets": ["Read what there is", "Write the smallest thing that works", "Test it, and show the result"], "estimatedCost": 0.4}}'::jsonb
  FROM moved;
