UPDATE t SET j = '7', k = 'null', v = 3 WHERE id = 2;
