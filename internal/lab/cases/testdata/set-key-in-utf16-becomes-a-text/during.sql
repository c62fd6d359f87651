UPDATE t SET `c5` = 'h' WHERE `c1` = 3;
INSERT INTO t (`c1`, `c3`) VALUES (6, 0.004);
DELETE FROM t WHERE `c1` = 7;
