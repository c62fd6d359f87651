UPDATE t SET u = 'z' WHERE k = 'a';
UPDATE t SET u = 'x' WHERE k = 'b';
UPDATE t SET u = 'y' WHERE k = 'a';
INSERT INTO t VALUES ('d', 'z');
