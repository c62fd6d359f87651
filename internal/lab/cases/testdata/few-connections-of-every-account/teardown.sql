SET GLOBAL max_user_connections = 0;
DROP USER IF EXISTS 'midstream_case'@'%';
