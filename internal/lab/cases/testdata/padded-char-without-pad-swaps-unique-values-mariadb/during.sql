UPDATE t SET u = 'z', v = 'z' WHERE k = 1;
UPDATE t SET u = 'x', v = 'x' WHERE k = 2;
UPDATE t SET u = 'y', v = 'y' WHERE k = 1;
INSERT INTO t VALUES (4, 'z', 'z', 'z');
UPDATE t SET w = 'p' WHERE k = 1;
UPDATE t SET w = 'q' WHERE k = 2;
UPDATE t SET w = 'p2' WHERE k = 1;
UPDATE t SET w = 'p' WHERE k = 2;
