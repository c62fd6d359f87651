SET GLOBAL enforce_gtid_consistency = ON;
