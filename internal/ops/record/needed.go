package record

// Needed is a group of statements, completed by what foreign keys need.
type Needed struct {
	Tables  []NeededTable `json:"tables" doc:"the tables of the complete group: first the tables of the given statements"`
	Bytes   int64         `json:"bytes" doc:"size of all these tables with their indexes, as the server estimates it"`
	Command string        `json:"command" doc:"the complete command; empty if a column cannot get its type, and with --to"`
}

// NeededTable is a table of the group.
type NeededTable struct {
	Table     string         `json:"table" doc:"database.table"`
	Given     bool           `json:"given" doc:"true: the command line has a statement on it"`
	Statement string         `json:"statement" doc:"the complete ALTER TABLE"`
	Bytes     int64          `json:"bytes" doc:"size of the table with its indexes, as the server estimates it"`
	Columns   []NeededColumn `json:"columns" doc:"the columns that need another type; empty: the given statement is complete"`
}

// NeededColumn is a column that needs another type.
type NeededColumn struct {
	Column      string `json:"column" doc:"name of the column"`
	From        string `json:"from" doc:"its type"`
	To          string `json:"to" doc:"the type that it needs"`
	Constraint  string `json:"constraint" doc:"the foreign key by which it needs that type"`
	Child       string `json:"child" doc:"the table of the foreign key, database.table"`
	Parent      string `json:"parent" doc:"the table that the foreign key refers to, database.table"`
	OtherColumn string `json:"other_column" doc:"the column at the other end of the foreign key"`
	OtherTable  string `json:"other_table" doc:"the table at the other end of the foreign key, database.table"`
}
