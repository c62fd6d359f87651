SET GLOBAL time_zone = '+05:30';
