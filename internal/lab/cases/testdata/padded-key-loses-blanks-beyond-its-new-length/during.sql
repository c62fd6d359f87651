UPDATE t SET a = 9 WHERE k = 'ab   ';
DELETE FROM t WHERE k = 'c  ';
INSERT INTO t VALUES ('e    ', 5);
UPDATE t SET k = 'f    ' WHERE k = 'd';
