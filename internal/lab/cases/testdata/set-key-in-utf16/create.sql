CREATE TABLE t (`c1` SET('x','y','z') NOT NULL, `c3` DECIMAL(3,3) NOT NULL DEFAULT 0.001, `b4` SET('3','1','2','0') CHARACTER SET utf8 DEFAULT 2,
  `c5` ENUM('h','b','f') DEFAULT 'f', PRIMARY KEY (`c1`)) CHARACTER SET utf16;
INSERT INTO t (`c1`, `c3`, `b4`, `c5`) VALUES (3, 0.001, 1, NULL), (1, 0.002, 2, 'h'), (7, 0.003, 3, 'b');
