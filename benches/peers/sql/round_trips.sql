-- As most programs do it: a transaction with a round trip for each step.
\set id random(1, :entities)
\set key random(1, 9000000000000000)
BEGIN;
INSERT INTO command_key (actor, key, entity) VALUES ('ada', :key::text, :id) ON CONFLICT DO NOTHING;
SELECT state AS from_state, CASE state WHEN 'assigned' THEN 'working' ELSE 'assigned' END AS to_state, version + 1 AS version
  FROM entity WHERE id = :id AND fields -> 'assigneeIds' ? 'ada' AND (fields ->> 'reviewCycles')::int < 3 FOR UPDATE \gset
UPDATE entity SET state = :to_state, version = :version, updated = now(),
  fields = fields || '{"workPlan": {"bullets": ["Read what there is", "Write the smallest thing that works", "Test it, and show the result"], "estimatedCost": 0.4}}'::jsonb
  WHERE id = :id;
INSERT INTO timer (entity, name, due) VALUES (:id, 'deadline', now() + interval '4 hours')
  ON CONFLICT (entity, name) DO UPDATE SET due = excluded.due;
INSERT INTO journal (entity, version, event, from_state, to_state, actor, payload)
  VALUES (:id, :version, 'moved', :from_state, :to_state, 'ada',
    '{"workPlan": {"bullets": ["Read what there is", "Write the smallest thing that works", "Test it, and show the result"], "estimatedCost": 0.4}}'::jsonb);
COMMIT;
