SET GLOBAL sql_require_primary_key = DEFAULT; DROP USER 'midstream_case'@'%';
