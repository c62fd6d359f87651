SET GLOBAL binlog_row_image = FULL;
