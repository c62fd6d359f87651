package migration_test

import (
	"strings"
	"testing"

	"midstream/internal/lab/fault"
)

// TestL7_ATriggerInACircleOfForeignKeys: a run is killed after the RENAME of two tables that refer to each other. The cleanup of one
// after the other leaves the trigger once, under its name.
func TestL7_ATriggerInACircleOfForeignKeys(t *testing.T) {
	sideBySide(t)
	onGroups(t, func(b *bench) {
		for _, at := range []string{"`a_old` DROP FOREIGN KEY", "`b_old` DROP FOREIGN KEY"} {
			for _, first := range []string{"a", "b", "run"} {
				b.Run(at+", then "+first, func(t *testing.T) {
					b := setup(t, b.version)
					b.exec("CREATE TABLE a (id INT PRIMARY KEY, bid INT)",
						"CREATE TABLE b (id INT PRIMARY KEY, aid INT, FOREIGN KEY (aid) REFERENCES a (id) ON DELETE CASCADE)",
						"ALTER TABLE a ADD FOREIGN KEY (bid) REFERENCES b (id) ON DELETE SET NULL",
						"CREATE TABLE seen (id INT)", "CREATE TRIGGER tr AFTER INSERT ON b FOR EACH ROW INSERT INTO seen VALUES (NEW.id)",
						"INSERT INTO a (id) VALUES (1), (2)", "INSERT INTO b VALUES (1, 1), (2, 2)", "UPDATE a SET bid = id")
					args := []string{"run", "--together", "--lock-work=5s", strings.ReplaceAll("ALTER TABLE S.a MODIFY id BIGINT NOT NULL, MODIFY bid BIGINT;"+
						" ALTER TABLE S.b MODIFY id BIGINT NOT NULL, MODIFY aid BIGINT", "S.", b.schema+".")}
					rule := fault.Rule{After: "RENAME TABLE", At: "ALTER TABLE `" + b.schema + "`." + at}
					if code, last := b.killIf(rule, func() *child { return b.process("", nil, args...) }); code != -1 {
						b.Fatalf("exit code %d: %s", code, last)
					}
					if first == "run" {
						b.process("", nil, args...).mustEnd()
					}
					for _, table := range map[string][]string{"a": {"a", "b"}, "b": {"b", "a"}}[first] {
						b.exec("INSERT INTO a (id) VALUES (7)", "INSERT INTO b VALUES (7, 7)", "UPDATE a SET bid = 7 WHERE id = 7")
						b.nextCleanupOf(table)
						b.exec("DELETE FROM b WHERE id = 7", "DELETE FROM a WHERE id = 7")
					}
					b.exec("INSERT INTO b VALUES (9, 1)")
					const triggers = "SELECT GROUP_CONCAT(trigger_name, ' ', event_object_table) FROM information_schema.triggers WHERE trigger_schema = DATABASE()"
					if got := b.value(triggers); got != "tr b" {
						b.Errorf("triggers: %s", got)
					}
					if got, want := b.value("SELECT COUNT(*) FROM seen"), map[bool]string{true: "3", false: "5"}[first == "run"]; got != want {
						b.Errorf("the trigger saw %s rows, want %s", got, want)
					}
				})
			}
		}
	})
}
