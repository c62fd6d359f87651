SET GLOBAL init_connect = DEFAULT; DROP USER IF EXISTS 'midstream_case'@'%';
