SET GLOBAL check_constraint_checks = ON;
