INSERT INTO t VALUES (3, '90', 1, '2020-01-02 00:00:00'), (4, NULL, 1, '2020-01-02 00:00:00');
UPDATE t SET c4 = '80', ts = ts WHERE id = 1;
UPDATE t SET id = 9, ts = ts WHERE id = 2;
