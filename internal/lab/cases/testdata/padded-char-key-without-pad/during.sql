UPDATE t SET k = 'c' WHERE k = 'a'; DELETE FROM t WHERE k = '';
