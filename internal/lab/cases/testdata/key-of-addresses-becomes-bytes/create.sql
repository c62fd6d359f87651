DROP TABLE IF EXISTS t, t_old;
CREATE TABLE t (a INET4 NOT NULL, b INET6 NOT NULL, n INT, PRIMARY KEY (a, b DESC));
INSERT INTO t VALUES ('0.0.0.0', '::', 1), ('255.255.255.255', '::ffff:1.2.3.4', 2), ('10.0.0.0', '2001:db8::', 3), ('10.0.0.1', 'fe80::1', 4), ('10.0.0.1', '::1', 5), ('127.0.0.1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 6);
INSERT INTO t SELECT CONCAT('10.', seq DIV 256, '.', seq % 256, '.', seq % 3), CONCAT('2001:db8::', HEX(seq)), seq FROM seq_7_to_3000;
