UPDATE t SET a = 'later' WHERE k = '1'; UPDATE t SET k = '2', a = 'moved' WHERE k = '3'; INSERT INTO t VALUES ('0', 'new') ON DUPLICATE KEY UPDATE a = 'old';
