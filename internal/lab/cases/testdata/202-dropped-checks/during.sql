INSERT INTO t VALUES (3, 'c', 'd', 99);
