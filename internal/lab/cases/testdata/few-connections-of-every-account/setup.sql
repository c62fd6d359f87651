DROP USER IF EXISTS 'midstream_case'@'%';
CREATE USER 'midstream_case'@'%' IDENTIFIED BY 'case';
GRANT ALL ON test.* TO 'midstream_case'@'%';
GRANT REPLICATION SLAVE, REPLICATION CLIENT, PROCESS ON *.* TO 'midstream_case'@'%';
GRANT SELECT ON performance_schema.* TO 'midstream_case'@'%';
SET GLOBAL max_user_connections = 6;
