package cli

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
	"midstream/internal/ops/record"
)

// family has tables that foreign keys bind, in two databases.
type family struct {
	*statementRig
	other  string // the second database
	column string // of the invoices
	tables []string
}

func newFamily(t *testing.T, version string) *family {
	i := mysqltest.Server(t, version)
	name, query := table(t, i, 1)
	database := strings.TrimSuffix(name, ".t")
	_, other := mysqltest.Database(t, i)
	f := &family{&statementRig{T: t, i: i, database: database, query: query, exec: executing(t, i, database)}, other, "`a``b ,`", nil}
	invisible := "/*!80023 INVISIBLE */"
	if strings.HasPrefix(version, "mariadb") {
		invisible, f.column = "INVISIBLE", "`a'b ,`" // SHOW CREATE TABLE of 10.11.18 does not double a backtick in a foreign key's column
	}
	f.exec("CREATE TABLE customers (id INT UNSIGNED NOT NULL AUTO_INCREMENT COMMENT 'int unsigned', `int` INT UNSIGNED NULL COMMENT 'the `int`, an int(10) unsigned',"+
		" code VARCHAR(20) CHARACTER SET latin1 NOT NULL DEFAULT 'x', PRIMARY KEY (id), KEY (`int`), UNIQUE (code),"+
		" CONSTRAINT itself FOREIGN KEY (`int`) REFERENCES customers (id) ON DELETE SET NULL)",
		"CREATE TABLE orders (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, customer_id INT UNSIGNED "+invisible+" NOT NULL DEFAULT 7 COMMENT 'it''s \\\\ \"int\", MODIFY',"+
			" code CHAR(9) CHARACTER SET latin1 COLLATE latin1_swedish_ci DEFAULT 'COLLATE y' COMMENT 'COLLATE x', KEY (customer_id, id),"+
			" CONSTRAINT of_customer FOREIGN KEY (customer_id) REFERENCES customers (id), CONSTRAINT of_code FOREIGN KEY (code) REFERENCES customers (code))",
		"CREATE TABLE `"+other+"`.`in``vo'ices\"` (id INT PRIMARY KEY, "+f.column+" INT UNSIGNED NOT NULL DEFAULT '12',"+
			" CONSTRAINT of_order FOREIGN KEY ("+f.column+") REFERENCES `"+database+"`.orders (id) ON UPDATE CASCADE)",
		"INSERT INTO customers (id, `int`) VALUES (7, 7)", "INSERT INTO orders (id, code) VALUES (12, 'x')", "INSERT INTO `"+other+"`.`in``vo'ices\"` VALUES (1, 12)")
	f.tables = []string{"`" + database + "`.customers", "`" + database + "`.orders", "`" + other + "`.`in``vo'ices\"`"}
	return f
}

// definitions are those of the tables, without counters.
func (f *family) definitions() string {
	var all []string
	for _, table := range f.tables {
		var name, text string
		db := f.i.Open(f.T, f.database)
		if err := db.QueryRowContext(f.T.Context(), "SHOW CREATE TABLE "+table).Scan(&name, &text); err != nil {
			f.Fatal(err)
		}
		all = append(all, text)
	}
	text := strings.Join(all, "\n\n")
	for _, width := range []string{"` int(10)", "` int(11)", "` bigint(20)"} {
		text = strings.ReplaceAll(text, width, strings.TrimRight(width, "(0123456789)"))
	}
	return text
}

// completes gives statements to plan --together, and returns what it prints. It plans the complete group, whatever comes of that.
func (f *family) completes(statements ...string) (stdout string, needed *record.Needed) {
	f.Helper()
	args := append([]string{"plan", "--together"}, flagsTo(f.T, f.i)...)
	if !strings.Contains(statements[0], f.other) {
		args = append(args, "--database="+f.database)
	}
	args = append(args, statements...)
	_, stdout, _ = midstream(f.T, args...)
	_, text, _ := midstream(f.T, append(args, "--json")...)
	_, result, _ := records(f.T, text)
	if result.Needed == nil {
		f.Fatalf("nothing is needed:\n%s\n%s", stdout, text)
	}
	return stdout, result.Needed
}

// printed are the statements of a command, as a shell reads it.
func (f *family) printed(stdout string) (command string, statements []string) {
	f.Helper()
	for line := range strings.Lines(stdout) {
		if command = strings.TrimSpace(line); strings.HasPrefix(command, "midstream run ") {
			break
		}
	}
	out, err := exec.CommandContext(f.T.Context(), "bash", "-c", "midstream() { printf '%s' \"${@: -1}\"; }; "+command).Output()
	if err != nil || len(out) == 0 {
		f.Fatalf("%v: %s", err, stdout)
	}
	return command, []string{string(out)}
}

// TestL6_ThePrintedCommandGivesBothEndsOneType: plan --together is given the parent's ALTER alone. The statements that it prints, carried
// out by the server, change the types of both ends and nothing else.
func TestL6_ThePrintedCommandGivesBothEndsOneType(t *testing.T) {
	sideBySide(t)
	for _, version := range mysqltest.InTurn(t, everyServer...) {
		t.Run(version, func(t *testing.T) {
			f := newFamily(t, version)
			for _, c := range []struct {
				statements []string
				tables     int
				changes    []string // old and new texts
			}{
				{[]string{"ALTER TABLE customers MODIFY id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT COMMENT 'int unsigned'"}, 2, []string{
					"`id` int unsigned NOT NULL AUTO_INCREMENT COMMENT", "`id` bigint unsigned NOT NULL AUTO_INCREMENT COMMENT",
					"`int` int unsigned", "`int` bigint unsigned", "`customer_id` int unsigned", "`customer_id` bigint unsigned",
				}},
				{[]string{"ALTER TABLE `" + f.other + "`.`in``vo'ices\"` MODIFY " + f.column + " INTEGER NOT NULL DEFAULT '12'; ALTER TABLE " + f.database + ".customers COMMENT 'int'"}, 3, []string{
					"`id` int unsigned NOT NULL AUTO_INCREMENT,", "`id` int NOT NULL AUTO_INCREMENT,", f.column + " int unsigned", f.column + " int",
				}},
				{[]string{"ALTER TABLE customers CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "ALTER TABLE orders RENAME COLUMN code TO `CHAR`"}, 2, []string{
					"`code` char(9) CHARACTER SET latin1 COLLATE latin1_swedish_ci", "`CHAR` char(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
				}},
			} {
				if strings.Contains(strings.Join(c.statements, ""), "RENAME COLUMN") && version == "5.7" {
					continue
				}
				before := f.definitions()
				stdout, needed := f.completes(c.statements...)
				command, texts := f.printed(stdout)
				if len(needed.Tables) != c.tables || needed.Bytes == 0 {
					t.Errorf("%d tables: %s", len(needed.Tables), stdout)
				}
				var statements []string
				for _, table := range needed.Tables {
					statements = append(statements, table.Statement)
				}
				if got := strings.Join(statements, "; "); got != texts[0] {
					t.Errorf("the command has\n%s\nand the record has\n%s", texts[0], got)
				}
				contains(t, command, " --together ")
				if after := f.definitions(); after != before {
					t.Fatalf("plan has changed\n%s", after)
				}
				f.alter(statements)
				f.compare(before, f.definitions(), c.changes)
			}
		})
	}
}

// alter has the server carry out the statements, without the foreign keys. Then it adds them again: the server refuses a foreign key whose
// columns have different types.
func (f *family) alter(statements []string) {
	f.Helper()
	code := "code"
	if strings.Contains(strings.Join(statements, ""), "`CHAR`") {
		code = "CHAR"
	}
	f.exec("ALTER TABLE customers DROP FOREIGN KEY itself", "ALTER TABLE orders DROP FOREIGN KEY of_customer, DROP FOREIGN KEY of_code",
		"ALTER TABLE "+f.tables[2]+" DROP FOREIGN KEY of_order")
	f.exec(statements...)
	f.exec("ALTER TABLE customers ADD CONSTRAINT itself FOREIGN KEY (`int`) REFERENCES customers (id) ON DELETE SET NULL",
		"ALTER TABLE orders ADD CONSTRAINT of_code FOREIGN KEY (`"+code+"`) REFERENCES customers (code), "+
			"ADD CONSTRAINT of_customer FOREIGN KEY (customer_id) REFERENCES customers (id)",
		"ALTER TABLE "+f.tables[2]+" ADD CONSTRAINT of_order FOREIGN KEY ("+f.column+") REFERENCES "+f.tables[1]+" (id) ON UPDATE CASCADE")
}

// compare wants that definitions differ by these changes alone, in columns that only the case names.
func (f *family) compare(before, after string, changes []string) {
	f.Helper()
	for i := 0; i < len(changes); i += 2 {
		changed := strings.Replace(before, changes[i], changes[i+1], 1)
		if changed == before && !strings.Contains(after, changes[i+1]) {
			f.Errorf("no %s in\n%s\nand\n%s", changes[i], before, after)
		}
		before = changed
	}
	was, is := slices.Collect(strings.Lines(before)), slices.Collect(strings.Lines(after))
	for i := range min(len(was), len(is)) {
		// The parent of CONVERT TO and the comment of a table are the user's own changes.
		own := strings.Contains(is[i], "ENGINE=") || strings.HasPrefix(is[i], "  `code` varchar(20)") || strings.Contains(is[i], "KEY")
		if was[i] != is[i] && !own {
			f.Errorf("%s instead of %s", is[i], was[i])
		}
	}
	if len(was) != len(is) {
		f.Errorf("%s\ninstead of\n%s", after, before)
	}
}

// TestL6_ThePrintedCommandRuns: the plan accepts the complete group, and so does a run.
func TestL6_ThePrintedCommandRuns(t *testing.T) {
	sideBySide(t)
	f := newFamily(t, "9.7")
	before := f.definitions()
	stdout := f.says("plan", exit.Done, "ALTER TABLE customers MODIFY id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT COMMENT 'int unsigned'", []string{"--together"},
		"Next the complete command above", "swapped in one step with "+f.database+".orders")
	_, texts := f.printed(stdout)
	f.says("run", exit.Done, texts[0], []string{"--together", "--rehearse-lock"}, "A run holds it longer, because it also moves foreign keys")
	f.says("run", exit.Refused, "ALTER TABLE t MODIFY missing INT; ALTER TABLE orders ADD COLUMN n INT", []string{"--together"}, "where: planning, 127.0.0.1:")
	f.says("run", exit.Done, texts[0], []string{"--together", "--drop-old"})
	f.compare(before, f.definitions(), []string{
		"`id` int unsigned NOT NULL AUTO_INCREMENT COMMENT", "`id` bigint unsigned NOT NULL AUTO_INCREMENT COMMENT",
		"`int` int unsigned", "`int` bigint unsigned", "`customer_id` int unsigned", "`customer_id` bigint unsigned",
	})
	f.are("customers,orders,t")
	f.exec("CREATE TABLE alone (id INT NOT NULL PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES alone (id))")
	f.says("plan", exit.Refused, "ALTER TABLE alone MODIFY id BIGINT NOT NULL", []string{"--together", "--keep=alone: id > 0"}, "'--keep=id > 0' 'ALTER TABLE")
	stdout = f.says("plan", exit.Done, "ALTER TABLE alone MODIFY id BIGINT NOT NULL", []string{"--together"}, "The group has 1 table")
	command, texts := f.printed(stdout)
	if strings.Contains(command, "--together") {
		t.Errorf("a table with a foreign key to itself needs no group: %s", command)
	}
	f.says("plan", exit.Done, texts[0], []string{"--undo=1h"}, "possible for 1 h after the swap")
}

// TestL6_AnIncompleteGroupIsRefused: check and run name what is missing, and write nothing. So does --to.
func TestL6_AnIncompleteGroupIsRefused(t *testing.T) {
	sideBySide(t)
	f := newFamily(t, mysqltest.InTurn(t, "9.7", "8.0")[0])
	const alter = "ALTER TABLE customers MODIFY id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT"
	before := f.definitions()
	for _, verb := range []string{"check", "run"} {
		for _, statement := range []string{alter, alter + "; ALTER TABLE orders ADD COLUMN n INT"} {
			f.says(verb, exit.Refused, statement, []string{"--together", "--lock-wait=3s", "--keep=customers: id > 0"},
				"column customer_id of "+f.database+".orders (int unsigned) needs the type bigint unsigned as well",
				"foreign key itself of "+f.database+".customers binds it to column id of "+f.database+".customers",
				"midstream "+verb+" ", "--together --lock-wait=3s '--keep="+f.database+".customers: id > 0' 'ALTER TABLE "+f.database+".customers MODIFY id",
				"nothing was written")
		}
	}
	f.says("run", exit.WrongUsage, "ALTER TABLE t MODIFY a BIGINT", []string{"--together"}, "--together needs several statements")
	f.says("plan", exit.Refused, "ALTER TABLE missing MODIFY a BIGINT", []string{"--together"}, "no such table")
	f.says("plan", exit.Refused, alter+"; ALTER TABLE orders MODIFY customer_id SMALLINT UNSIGNED NOT NULL", []string{"--together"},
		"column customer_id gets the type smallint unsigned, and foreign key of_customer of "+f.database+".orders needs bigint unsigned")
	stdout := f.says("run", exit.Refused, alter, []string{"--together", "--json"})
	_, result, _ := records(t, stdout)
	if result.Needed == nil || len(result.Problems) != 2 || !strings.Contains(result.Needed.Command, "ALTER TABLE "+f.database+".orders MODIFY `customer_id` bigint unsigned") {
		text, _ := json.Marshal(result)
		t.Errorf("%s", text)
	}

	parts := strings.Split(before, "\n\n")
	folder := files(t, map[string]string{"customers.sql": strings.Replace(parts[0], "`id` int unsigned", "`id` bigint unsigned", 1) + ";", "orders.sql": parts[1] + ";"})
	for _, verb := range []string{"plan", "run"} {
		code, _, stderr := midstream(t, append([]string{verb, "--together", "--database=" + f.database, "--to=" + folder}, flagsTo(t, f.i)...)...)
		text := strings.Join(strings.Fields(stderr), " ")
		if code != exit.Refused {
			t.Errorf("%s: exit code %d", verb, code)
		}
		contains(t, text, fmt.Sprintf("column int of %s.customers (int unsigned) needs the type bigint unsigned as well", f.database))
		contains(t, text, "Give the column that type in "+folder+"/orders.sql:1")
	}
	if after := f.definitions(); after != before {
		t.Errorf("changed: %s", after)
	}
	f.are("customers,orders,t")
}
