INSERT INTO t VALUES ('new', 7, 'n');
UPDATE t SET a = 'chan' WHERE k = 'a' AND n = 1;
UPDATE t SET k = 'moved' WHERE k = 'b';
DELETE FROM t WHERE k = 'gone';
DELETE FROM t WHERE k = '';
