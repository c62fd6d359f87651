SET GLOBAL sql_mode = 'ORACLE';
