SET SESSION time_zone = '+00:00'; UPDATE t SET v = 9; INSERT INTO t (id, ts) VALUES (5, '2020-10-25 01:30:00'), (6, '2020-10-25 00:30:00');
