UPDATE t SET c = 'r';
