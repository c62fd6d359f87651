SET GLOBAL mysql56_temporal_format = OFF;
