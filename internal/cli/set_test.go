package cli

import (
	"testing"

	"midstream/internal/cli/exit"
	"midstream/internal/lab/mysqltest"
)

// TestL6_SetGivesColumnsTheValuesOfExpressions: midstream run --set fills new and existing columns from an expression of the row. The
// plan says so, and counts what is lost.
func TestL6_SetGivesColumnsTheValuesOfExpressions(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		fill := func() {
			r.exec("DROP TABLE IF EXISTS t, t_old", "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, email VARCHAR(60), n INT NOT NULL, at TIMESTAMP NULL)",
				"INSERT INTO t VALUES (1, 'A@x.de', 5, '2024-01-01 10:00:00'), (2, 'bcdefg@x.de', 300, '2020-01-01 10:00:00'), (3, 'C', -1, NULL), (4, 'd''e', 4, '2024-06-01 10:00:00')")
		}
		fill()
		r.says("plan", exit.Done, "ALTER TABLE t ADD COLUMN email_norm VARCHAR(200) NOT NULL", []string{"--set=email_norm=LOWER(email)"},
			"Values", "of column email_norm: LOWER(email)", "after the swap, no expression gives column email_norm its values")
		r.says("run", exit.Done, "ALTER TABLE t ADD COLUMN email_norm VARCHAR(200) NOT NULL", []string{"--set=email_norm=LOWER(email)"})
		if got := r.query("SELECT GROUP_CONCAT(email_norm ORDER BY id) FROM t"); got != "a@x.de,bcdefg@x.de,c,d'e" {
			t.Errorf("the new column has %s", got)
		}
		fill()
		r.says("run", exit.Unfit, "ALTER TABLE t MODIFY email VARCHAR(5)", []string{"--method=shadow"}, "or change their values (--set)")
		r.says("plan", exit.Done, "ALTER TABLE t MODIFY email VARCHAR(5)", []string{"--set=email=LEFT(email, 5)"}, "--set changes values of column email", "counts the rows")
		r.says("check", exit.Done, "ALTER TABLE t MODIFY email VARCHAR(5)", []string{"--set=email=LEFT(email, 5)"}, "2 rows", "the expression of --set changes it")
		r.says("run", exit.Unfit, "ALTER TABLE t MODIFY email VARCHAR(5)", []string{"--set=email=LEFT(email, 6)"}, "too long")
		r.says("run", exit.Unfit, "ALTER TABLE t MODIFY n TINYINT", []string{"--set=n=n + 1"}, "for which the expression of --set gives no value of column n")
		r.says("run", exit.Unfit, "ALTER TABLE t ADD COLUMN x INT NOT NULL", []string{"--set=x=YEAR(at)"}, "for which the expression of --set is NULL")
		r.says("run", exit.Done, "ALTER TABLE t MODIFY email VARCHAR(5), MODIFY n TINYINT", []string{"--set=email=LEFT(email, 5)", "--set=`n` = LEAST(n, 127)"})
		if got := r.query("SELECT GROUP_CONCAT(email, n ORDER BY id) FROM t"); got != "A@x.d5,bcdef127,C-1,d'e4" {
			t.Errorf("the columns have %s", got)
		}
		r.exec("DROP TABLE t_old")
	})
}

// TestSetIsRefused: an expression whose value is not the same each time, columns that can have none, and changes without a new table.
func TestSetIsRefused(t *testing.T) {
	mysqltest.Seldom(t)
	sideBySide(t)
	onEachStatementRig(t, func(r *statementRig) {
		r.exec("CREATE TABLE s (id INT PRIMARY KEY, a INT, b INT, c INT, g INT AS (a + 1) STORED)",
			"CREATE TABLE p (id INT PRIMARY KEY, u INT, UNIQUE KEY (u))", "CREATE TABLE k (id INT PRIMARY KEY, s INT, CONSTRAINT of_k FOREIGN KEY (s) REFERENCES p (u))")
		for _, c := range []struct {
			alter string
			flags []string
			says  string
		}{
			{"ADD COLUMN n DOUBLE", []string{"--set=n=RAND()"}, "--set cannot give column n its values"},
			{"ADD COLUMN n DATETIME", []string{"--set=n=NOW()"}, "--set cannot give column n its values"},
			{"ADD COLUMN n INT", []string{"--set=n=(SELECT 1)"}, "--set cannot give column n its values"},
			{"ADD COLUMN n INT", []string{"--set=n=nosuch"}, "nosuch"},
			{"ADD COLUMN n INT", []string{"--set=n=nosuch(a)"}, "unction"},
			{"ADD COLUMN n INT, ADD COLUMN m INT", []string{"--set=n=m"}, "over the columns that the table has now"},
			{"ADD COLUMN n INT", []string{"--set=n=1) + (2"}, "its parentheses do not match"},
			{"ADD COLUMN n INT", []string{"--set=n='x"}, "a quote or a comment does not end"},
			{"ADD COLUMN n INT", []string{"--set=n=s.a"}, "without the name of the table"},
			{"ADD COLUMN n INT", []string{"--set=m=a"}, "the new table has no such column"},
			{"ADD COLUMN n INT", []string{"--set=n=a", "--set=N=b"}, "two expressions are for it"},
			{"ADD COLUMN n INT", []string{"--set=g=a"}, "it is a generated column"},
			{"ADD COLUMN n INT AS (a) STORED", []string{"--set=n=a"}, "it is a generated column"},
			{"ADD COLUMN n INT", []string{"--set=id=id + 1"}, "the run follows rows by the key PRIMARY"},
			{"DROP COLUMN c", []string{"--set=c=1"}, "the ALTER drops it"},
			{"CHANGE c d INT", []string{"--set=c=1"}, "the ALTER renames it to d"},
			{"CHANGE c d INT", []string{"--set=d=1", "--map=c=d"}, "--map c=d gives it the values of column c"},
			{"ADD COLUMN n INT AUTO_INCREMENT UNIQUE", []string{"--set=n=a"}, "the server numbers it"},
			{"ADD COLUMN n INT", []string{"--set=n=a", "--method=instant"}, "only a new table can take them"},
			{"ADD COLUMN n INT", []string{"--set=n=a", "--method=copy"}, "only a new table can take them"},
		} {
			r.says("run", exit.Refused, "ALTER TABLE s "+c.alter, c.flags, c.says)
		}
		r.says("run", exit.Refused, "ALTER TABLE k ADD COLUMN x INT", []string{"--set=s=id"}, "rows refer to each other by them: foreign key of_k")
		r.says("run", exit.Refused, "ALTER TABLE p ADD COLUMN x INT", []string{"--set=u=id"}, "rows refer to each other by them: foreign key of_k")
		r.exec("DROP TABLE k, p")
		r.says("run", exit.Refused, "DROP TABLE s", []string{"--set=a=1"}, "cannot compute values")
		r.says("run", exit.Refused, "TRUNCATE TABLE s", []string{"--set=a=1"}, "cannot compute values")
		r.says("run", exit.WrongUsage, "ALTER TABLE s ADD COLUMN n INT", []string{"--set=n"}, "must be column=expression")
		r.says("run", exit.WrongUsage, "ALTER TABLE s ADD COLUMN n INT", []string{"--set=n=1", "--set=n=2"}, "n is given twice")
		r.exec("DROP TABLE s")
	})
}
