SET SESSION sql_mode = '';
UPDATE t SET v = NULL WHERE id = 1;
UPDATE t SET v = 0 WHERE id = 2;
UPDATE t SET v = 3 WHERE id = 3;
UPDATE t SET id = 9 WHERE id = 2;
