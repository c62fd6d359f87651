SET GLOBAL binlog_row_image = MINIMAL;
