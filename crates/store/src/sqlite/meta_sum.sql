-- Every property has a checksum, except `schema`, which is written before the rest.
ALTER TABLE meta ADD COLUMN sum INTEGER;
UPDATE meta SET sum = row_sum('meta', key, value) WHERE key <> 'schema';
