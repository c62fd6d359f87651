SET GLOBAL check_constraint_checks = OFF;
