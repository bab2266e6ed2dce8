-- The journal for people, without the salts of payloads. The newest step of the schema replaces it.
DROP VIEW IF EXISTS entries;

CREATE VIEW entries AS
SELECT
    journal.seq AS seq,
    strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(header, '$.at') / 1000.0, 'unixepoch') AS at,
    json_extract(header, '$.entity.lifecycle') AS lifecycle,
    json_extract(header, '$.entity.id') AS id,
    json_extract(header, '$.version') AS version,
    CASE event.key
        WHEN 'Created' THEN 'CREATED' WHEN 'Transitioned' THEN 'STATE_TRANSITION' WHEN 'FieldsChanged' THEN 'FIELDS_CHANGED'
        WHEN 'FailureCounted' THEN 'FAILURE_COUNTED' WHEN 'TimeoutWarned' THEN 'TIMEOUT_WARNING' WHEN 'TimerFired' THEN 'TIMER_FIRED'
        WHEN 'LimitWarned' THEN 'LIMIT_WARNING' WHEN 'Assigned' THEN 'ASSIGNED' WHEN 'LeaseGranted' THEN 'LEASE_GRANTED'
        WHEN 'LeaseRenewed' THEN 'LEASE_RENEWED' WHEN 'LeaseReleased' THEN 'LEASE_RELEASED' WHEN 'LeaseLost' THEN 'LEASE_LOST'
        WHEN 'MessagePosted' THEN 'MESSAGE_POSTED' WHEN 'EvidenceKept' THEN 'EVIDENCE' WHEN 'Erased' THEN 'ERASED'
        WHEN 'Notified' THEN 'NOTIFIED' WHEN 'AlertRaised' THEN 'ALERT_RAISED' WHEN 'AlertAcknowledged' THEN 'ALERT_ACKNOWLEDGED'
        WHEN 'AlertResolved' THEN 'ALERT_RESOLVED' WHEN 'EffectRequested' THEN 'EFFECT_REQUESTED' WHEN 'EffectSettled' THEN 'EFFECT_SETTLED'
        WHEN 'ViolationFound' THEN 'VIOLATION' WHEN 'ViolationCleared' THEN 'VIOLATION_CLEARED' WHEN 'Corrected' THEN 'STATE_CORRECTED'
        WHEN 'Migrated' THEN 'MIGRATED' WHEN 'Redacted' THEN 'REDACTED' WHEN 'ProjectChanged' THEN 'PROJECT_CHANGED'
        WHEN 'PackInstalled' THEN 'PACK_INSTALLED'
        ELSE event.key
    END AS event,
    json_extract(header, '$.trigger') AS "trigger",
    json_extract(header, '$.actor') AS actor,
    json_extract(header, '$.actor_kind') AS actor_kind,
    CASE WHEN event.key IN ('Transitioned', 'Corrected', 'Migrated') THEN json_extract(event.value, '$.from') END AS "from",
    CASE
        WHEN event.key = 'Created' THEN json_extract(event.value, '$.state')
        WHEN event.key IN ('Transitioned', 'Corrected', 'Migrated') THEN json_extract(event.value, '$.to')
    END AS "to",
    json_extract(payload, '$.reason') AS reason,
    json_remove(payload, '$.salt') AS payload,
    payload IS NULL AND digest IS NOT NULL AS redacted
FROM journal, json_each(header, '$.event') AS event;
