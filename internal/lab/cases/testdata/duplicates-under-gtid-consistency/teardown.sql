SET GLOBAL enforce_gtid_consistency = IF(@@GLOBAL.gtid_mode = 'ON', 'ON', 'OFF');
