package plan

import (
	"testing"

	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// TestL11_DefaultsThatAnotherAlterRounds: only defaults of more than six digits, of a FLOAT that the statement names.
func TestL11_DefaultsThatAnotherAlterRounds(t *testing.T) {
	for clauses, want := range map[string]bool{
		"ADD f FLOAT DEFAULT 1234567": true, "ADD f FLOAT DEFAULT '1234567'": true, "ADD f FLOAT DEFAULT -1234567": true, "ADD f FLOAT DEFAULT - 1234567": true,
		"ADD f FLOAT DEFAULT 0.1234567": true, "ALTER f SET DEFAULT 12345.678": true, "MODIFY f FLOAT DEFAULT 1.234567e3": true, "ADD f FLOAT DEFAULT 0x1FFFFF": true,
		"ADD f FLOAT DEFAULT (1234567)": true, "ADD f FLOAT DEFAULT 1234567 COMMENT 'x', ADD e INT": true, "ADD f FLOAT DEFAULT 1.000001": true,
		"ADD f FLOAT DEFAULT 16777217, ADD g INT": true, "ADD f FLOAT DEFAULT +1234567": true, "ADD f FLOAT DEFAULT 1234567e-3": true,
		"ADD f FLOAT DEFAULT 0": false, "ADD f FLOAT DEFAULT 1.5": false, "ADD f FLOAT DEFAULT 0.1 COMMENT '1'": false, "ADD f FLOAT DEFAULT 123456": false, "ADD f FLOAT DEFAULT 1e10": false,
		"ADD f FLOAT DEFAULT -0.0": false, "ADD f FLOAT DEFAULT NULL": false, "ADD x INT DEFAULT 1234567": false, "ADD f FLOAT DEFAULT 3.40282e38": false, "COMMENT 'DEFAULT 1234567 f'": false,
		"ADD f FLOAT DEFAULT 1.5 NOT NULL, DEFAULT CHARACTER SET latin1": false,
	} {
		alter, err := ddl.ParseClauses(schema.Name{Table: "t"}, clauses)
		if err != nil {
			t.Errorf("%s: %v", clauses, err)
			continue
		}
		altered := &schema.Table{
			Columns: []schema.Column{{Name: "id", DataType: "int"}, {Name: "f", DataType: "float", Type: "float", Default: "'1'"}},
		}
		if got := Rounds(alter, altered); got != want {
			t.Errorf("%s: %t, want %t: %q", clauses, got, want, defaults(alter.Clauses))
		}
	}
}
