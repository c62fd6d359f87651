DROP TABLE IF EXISTS t, t_old;
DROP TABLE IF EXISTS t, t_old, p;
SET SESSION restrict_fk_on_non_standard_key = OFF;
CREATE TABLE p (id INT, code INT NOT NULL, PRIMARY KEY (code, id));
CREATE TABLE t (id INT PRIMARY KEY, code INT, v INT, CONSTRAINT t_code FOREIGN KEY (code) REFERENCES p (code));
INSERT INTO p VALUES (1, 10), (2, 20);
INSERT INTO t VALUES (1, 10, 1), (2, 20, 2);
