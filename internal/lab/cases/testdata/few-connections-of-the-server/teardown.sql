SET GLOBAL max_connections = 300;
DROP USER IF EXISTS 'midstream_case'@'%';
