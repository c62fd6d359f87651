package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestRotationByExchange: the statements of docs/partitions.md work on a real server, in their order: a partition is moved out of the
// table, put back, moved out again and dropped, and a new one is added. No row is lost but the dropped ones.
func TestRotationByExchange(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	page, err := os.ReadFile("../../docs/partitions.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	steps := []struct {
		block                    int
		rows, partition, outside string // the number of rows after it; "" if there is no such partition or table
	}{
		{0, "4", "2", ""}, {1, "4", "2", "0"}, {2, "2", "0", "2"}, {3, "4", "2", "0"}, {2, "2", "0", "2"}, {4, "2", "", "2"}, {5, "2", "", "2"},
	}
	if len(blocks) != 6 {
		t.Fatalf("the page has %d blocks of SQL", len(blocks))
	}
	onEveryKind(t, func(r *statementRig) {
		for _, step := range steps {
			text := blocks[step.block][1]
			for statement := range strings.SplitSeq(text, ";\n") {
				if strings.TrimSpace(statement) != "" {
					r.exec(statement)
				}
			}
			if step.block == 0 {
				r.exec("INSERT INTO logs (made, line) VALUES ('2026-01-05', 'a'), ('2026-01-31', 'b'), ('2026-02-01', 'c'), ('2026-03-05', 'd')")
			}
			partition, outside := "", ""
			if strings.Contains(showCreate(r, "logs"), "p202601") {
				partition = r.query("SELECT COUNT(*) FROM logs PARTITION (p202601)")
			}
			if strings.Contains(r.tables(), "logs_202601") {
				outside = r.query("SELECT COUNT(*) FROM logs_202601")
			}
			if rows := r.query("SELECT COUNT(*) FROM logs"); rows != step.rows || partition != step.partition || outside != step.outside {
				r.Errorf("%s rows, %s in the partition and %s outside; want %+v\n%s", rows, partition, outside, step, text)
			}
		}
		for _, clause := range []string{"DROP PARTITION p202602", "EXCHANGE PARTITION p202602 WITH TABLE t"} {
			r.says("run", exit.Refused, "ALTER TABLE logs "+clause, nil, "Run it natively", "docs/partitions.md")
		}
		r.says("run", exit.Done, "ALTER TABLE logs ADD PARTITION (PARTITION p202605 VALUES LESS THAN (TO_DAYS('2026-06-01')))", nil, "Done in")
		r.says("run", exit.Done, "DROP TABLE logs_202601", nil, "Done: DROP TABLE")
	})
}

// onEveryKind is onEachStatementRig on one of all servers, in turn.
func onEveryKind(t *testing.T, test func(r *statementRig)) {
	for _, version := range mysqltest.InTurn(t, "9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8") {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			i := mysqltest.Server(t, version)
			name, query := table(t, i, 100)
			database := strings.TrimSuffix(name, ".t")
			test(&statementRig{T: t, i: i, database: database, query: query, exec: executing(t, i, database)})
		})
	}
}
