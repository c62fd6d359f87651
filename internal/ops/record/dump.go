package record

// Dump is what midstream dump has done.
type Dump struct {
	Database  string         `json:"database" doc:"the database"`
	Folder    string         `json:"folder" doc:"folder of the files"`
	Written   []string       `json:"written" doc:"files that were written"`
	Unchanged int            `json:"unchanged" doc:"number of files that had the same text already"`
	Skipped   map[string]int `json:"skipped" doc:"objects without a file, by their kind (view, sequence, ...)"`
	Former    []string       `json:"former" doc:"files of earlier dumps whose tables do not exist now"`
	Removed   []string       `json:"removed" doc:"such files that --prune has removed"`
}

// DumpOf makes the record of a dump, with empty lists where there is nothing.
func DumpOf(database, folder string, written, removed, former []string, unchanged int, skipped map[string]int) Dump {
	list := func(names []string) []string { return append([]string{}, names...) }
	return Dump{database, folder, list(written), unchanged, skipped, list(former), list(removed)}
}
