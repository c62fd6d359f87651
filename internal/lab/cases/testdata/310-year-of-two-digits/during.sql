UPDATE t SET y = 5, u = 2069 WHERE id = 2;
