UPDATE t SET v = 20 WHERE k = 'B';
DELETE FROM t WHERE k = 'a';
INSERT INTO t VALUES ('ß', 5, 'q'), ('c', 6, NULL);
UPDATE t SET k = 'Zz' WHERE k = 'z ';
