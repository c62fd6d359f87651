package tableddl_test

import "testing"

// TestL11_TruncateKeepsTheDefaultOfAFloat: a copy of the table would round a default of more than
// six digits, so the run uses the server's own TRUNCATE.
func TestL11_TruncateKeepsTheDefaultOfAFloat(t *testing.T) {
	on(t, []string{"9.7", "8.0", "5.7", "mariadb-10.11", "mariadb-11.8"}, func(r *rig) {
		r.exec(
			"ALTER TABLE t ADD f FLOAT DEFAULT 1234567, ADD g FLOAT DEFAULT 1.5, ADD h FLOAT(9,2) DEFAULT 0.123, ADD d DOUBLE DEFAULT 1234567",
		)
		end := r.begin(r.Context(), "TRUNCATE t")
		if err := end(); err != nil {
			r.Fatal(err)
		}
		r.exec("INSERT INTO t (v) VALUES (1)")
		if got := r.text("SELECT CONCAT_WS(' ', f + 0e0, g, h, d + 0e0) FROM t"); got != "1234567 1.5 0.12 1234567" {
			r.Errorf("the row has %s", got)
		}
	})
}
