INSERT INTO t VALUES ('c', '', 'eee', '1');
UPDATE t SET a = 'new', c = 'q' WHERE k = 'a';
