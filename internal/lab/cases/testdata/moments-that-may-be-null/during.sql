SET SESSION time_zone = '+00:00';
INSERT INTO t SELECT 2, a, b, c, '2020-10-25 01:30:00.678912', e, i, j, k, l, m, n, o, q, '2020-10-25 00:30:00' FROM t;
SET SESSION time_zone = @@GLOBAL.time_zone;
