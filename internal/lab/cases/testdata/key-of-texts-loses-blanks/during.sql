UPDATE t SET a = 9 WHERE k = '';
DELETE FROM t WHERE k = 'a';
BEGIN;
INSERT INTO t VALUES ('a ', 5);
UPDATE t SET k = 'c' WHERE k = 'a ';
COMMIT;
