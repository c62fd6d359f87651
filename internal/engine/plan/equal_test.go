package plan

import (
	"strings"
	"testing"

	"midstream/internal/mysql/schema"
)

// TestEqualValuesStayEqual: which changes of a type keep values equal that are equal.
func TestEqualValuesStayEqual(t *testing.T) {
	end := func(text string) schema.Column { // "type collation", or "enum member,member"
		kind, more, _ := strings.Cut(text, "|")
		c := schema.Column{Type: kind, Collation: more}
		c.DataType = strings.FieldsFunc(kind, func(r rune) bool { return r == '(' || r == ' ' })[0]
		if c.HasMembers() {
			c.Members = strings.Split(more, ",")
		}
		return c
	}
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"int", "bigint", true},
		{"int", "decimal(20,0)", true},
		{"int", "varchar(20)|utf8mb4_0900_ai_ci", true},
		{"int(10) unsigned zerofill", "varchar(20)|utf8mb4_0900_ai_ci", false},
		{"decimal(10,2)", "varchar(20)|utf8mb4_0900_ai_ci", false},
		{"varchar(20)|utf8mb4_0900_ai_ci", "bigint", true},
		{"varchar(20)|utf8mb4_0900_ai_ci", "varchar(40)|utf8mb4_0900_ai_ci", true},
		{"char(20)|utf8mb4_0900_ai_ci", "varchar(40)|utf8mb4_0900_ai_ci", true},
		{"varchar(20)|utf8mb4_0900_ai_ci", "char(20)|utf8mb4_0900_ai_ci", false},
		{"varchar(20)|utf8mb4_general_ci", "char(20)|utf8mb4_general_ci", true},
		{"varchar(20)|utf8mb4_general_ci", "varchar(20)|utf8mb4_bin", false},
		{"varchar(20)|utf8mb4_bin", "varchar(20)|utf8mb4_general_ci", true},
		{"varchar(20)|utf8mb4_bin", "varchar(20)|utf8mb4_0900_ai_ci", false},
		{"varchar(20)|utf8mb4_0900_bin", "varchar(20)|utf8mb4_0900_ai_ci", true},
		{"varchar(20)|utf8mb3_general_ci", "varchar(20)|utf8mb4_general_ci", true},
		{"varchar(20)|utf8mb3_general_ci", "varchar(20)|utf8mb4_unicode_ci", false},
		{"varchar(20)|latin1_general_ci", "varchar(20)|utf8mb4_general_ci", false},
		{"varchar(20)|latin1_bin", "varchar(20)|utf8mb4_bin", true},
		{"char(36)|ascii_general_ci", "char(36)|utf8mb4_general_ci", true},
		{"char(36)|ascii_general_ci", "char(36)|utf8mb4_turkish_ci", false},
		{"varchar(20)|utf8mb4_bin", "varbinary(80)|binary", false},
		{"binary(16)|binary", "varbinary(16)|binary", true},
		{"varbinary(16)|binary", "binary(16)|binary", false},
		{"binary(8)|binary", "binary(16)|binary", false},
		{"datetime", "datetime(3)", true},
		{"timestamp", "datetime", true},
		{"time", "datetime", false},
		{"date", "int", false},
		{"enum|a,b", "enum|a,b,c", true},
		{"enum|a,b", "enum|b,a", false},
		{"enum|a,b", "varchar(20)|utf8mb4_bin", false},
	} {
		if got := keepsEqual(end(c.from), end(c.to)); got != c.want {
			t.Errorf("%s to %s: %t, want %t", c.from, c.to, got, c.want)
		}
	}
}
