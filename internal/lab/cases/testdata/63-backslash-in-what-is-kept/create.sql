CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20) DEFAULT 'p\q' COMMENT 'x\', b ENUM('m\', 'n\\') COMMENT 'it''s', KEY k (a) COMMENT 'k\') COMMENT 'table\';
INSERT INTO t VALUES (1, 'a\', 'm\'), (2, 'c''d\\', NULL);
