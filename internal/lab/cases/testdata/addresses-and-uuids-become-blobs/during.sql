UPDATE t SET u = 'ffffffff-ffff-ffff-ffff-ffffffffffff', a = '::2', b = '0.0.0.0', d = u, e = '255.255.255.255' WHERE id = 2;
INSERT INTO t VALUES (3, NULL, '::', '1.2.3.4', '::3', NULL, NULL);
