UPDATE t SET c = 'zz' WHERE id = 1; INSERT INTO t VALUES (4,'q','r');
