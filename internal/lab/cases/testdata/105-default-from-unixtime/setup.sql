SET GLOBAL time_zone = '-07:00';
