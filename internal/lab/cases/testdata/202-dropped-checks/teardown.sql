SET GLOBAL sql_quote_show_create = ON;
