SET GLOBAL innodb_force_primary_key = OFF;
