UPDATE t SET f = 2 WHERE k = 'b';
UPDATE t SET f = 3 WHERE k = 'a';
