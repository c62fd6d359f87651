SET GLOBAL time_zone = '-12:00';
