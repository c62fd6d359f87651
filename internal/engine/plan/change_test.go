package plan

import (
	"strings"
	"testing"

	"midstream/internal/mysql/schema"
)

func TestChangeOf(t *testing.T) {
	text := func(kind, charset, collation string, length int64) schema.Column {
		return schema.Column{DataType: kind, Charset: charset, Collation: collation, Length: length}
	}
	general, bin, new8 := "utf8mb4_general_ci", "utf8mb4_bin", "utf8mb4_0900_ai_ci"
	enum := func(members ...string) schema.Column {
		return schema.Column{DataType: "enum", Charset: "utf8mb4", Collation: general, Members: members}
	}
	typed := func(kind string) schema.Column { return schema.Column{DataType: kind} }
	number := func(precision, scale int) schema.Column {
		return schema.Column{DataType: "decimal", Precision: precision, Scale: scale}
	}
	moment := func(kind string, fraction int) schema.Column {
		return schema.Column{DataType: kind, Fraction: fraction}
	}
	for _, c := range []struct {
		name     string
		from, to schema.Column
		want     Change
	}{
		{"int to bigint", typed("int"), typed("bigint"), Same},
		{"bigint to int", typed("bigint"), typed("int"), Same},
		{"to unsigned", typed("int"), schema.Column{DataType: "int", Unsigned: true}, Same},
		{"int to decimal", typed("int"), number(20, 2), Same},
		{"int to varchar", typed("int"), text("varchar", "utf8mb4", general, 20), Converted},
		{"int to double", typed("int"), typed("double"), Converted},
		{"decimal wider", number(10, 2), number(20, 4), Same},
		{"decimal shorter", number(10, 2), number(10, 1), Converted},
		{"float to double", typed("float"), typed("double"), Same},
		{"double to float", typed("double"), typed("float"), Converted},
		{"float to float with decimals", typed("float"), schema.Column{DataType: "float", Type: "float(7,2)", Precision: 7, Scale: 2}, Converted},
		{"float with fewer decimals", schema.Column{DataType: "float", Type: "float(7,2)", Scale: 2}, schema.Column{DataType: "float", Type: "float(7,1)", Scale: 1}, Converted},
		{"float with more decimals", schema.Column{DataType: "float", Type: "float(7,2)", Scale: 2}, schema.Column{DataType: "float", Type: "float(8,3)", Scale: 3}, Same},
		{"float to double with decimals", typed("float"), schema.Column{DataType: "double", Type: "double(7,2)", Scale: 2}, Converted},
		{"longer varchar", text("varchar", "utf8mb4", general, 10), text("varchar", "utf8mb4", general, 20), Same},
		{"shorter varchar, PAD SPACE", text("varchar", "utf8mb4", general, 20), text("varchar", "utf8mb4", general, 10), Same},
		{"shorter varchar, NO PAD", text("varchar", "utf8mb4", new8, 20), text("varchar", "utf8mb4", new8, 10), Converted},
		{"shorter varchar that becomes NO PAD", text("varchar", "utf8mb4", general, 20), text("varchar", "utf8mb4", new8, 10), Converted},
		{"varchar to text", text("varchar", "utf8mb4", general, 10), text("text", "utf8mb4", general, 65535), Same},
		{"other collation", text("varchar", "utf8mb4", general, 10), text("varchar", "utf8mb4", bin, 10), Reordered},
		{"other charset", text("varchar", "latin1", "latin1_swedish_ci", 10), text("varchar", "utf8mb4", general, 10), Reordered},
		{"char to varchar", text("char", "utf8mb4", new8, 10), text("varchar", "utf8mb4", new8, 10), Same},
		{"varchar to char, PAD SPACE", text("varchar", "utf8mb4", general, 10), text("char", "utf8mb4", general, 10), Same},
		{"varchar to char, NO PAD", text("varchar", "utf8mb4", new8, 10), text("char", "utf8mb4", new8, 10), Converted},
		{"varchar to varbinary", text("varchar", "utf8mb4", general, 10), text("varbinary", "binary", "binary", 10), Converted},
		{"binary longer", text("binary", "binary", "binary", 10), text("binary", "binary", "binary", 11), Converted},
		{"binary as it is", text("binary", "binary", "binary", 10), text("binary", "binary", "binary", 10), Same},
		{"varbinary longer", text("varbinary", "binary", "binary", 10), text("varbinary", "binary", "binary", 20), Same},
		{"members added", enum("a", "b"), enum("a", "b", "c"), Same},
		{"members in another order", enum("a", "b"), enum("b", "a"), Converted},
		{"member in between", enum("a", "b"), enum("a", "x", "b"), Converted},
		{"member gone", enum("a", "b"), enum("a"), Converted},
		{"enum to varchar", enum("a"), text("varchar", "utf8mb4", general, 10), Converted},
		{"finer", moment("datetime", 0), moment("datetime", 6), Same},
		{"coarser", moment("datetime", 6), moment("datetime", 0), Converted},
		{"date to datetime", typed("date"), moment("datetime", 0), Same},
		{"datetime to date", moment("datetime", 0), typed("date"), Converted},
		{"datetime to timestamp", moment("datetime", 0), moment("timestamp", 0), Converted},
		{"timestamp as it is", moment("timestamp", 3), moment("timestamp", 3), Same},
		{"date as it is", typed("date"), typed("date"), Same},
		{"year to smallint", typed("year"), typed("smallint"), Same},
		{"bit longer", schema.Column{DataType: "bit", Precision: 3}, schema.Column{DataType: "bit", Precision: 9}, Same},
		{"json to text", typed("json"), text("text", "utf8mb4", general, 0), Converted},
	} {
		if got := changeOf(c.from, c.to); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestExpression(t *testing.T) {
	typed := func(kind string) schema.Column {
		c := schema.Column{Name: "a", Type: kind, DataType: kind}
		c.DataType, c.Unsigned = strings.CutSuffix(kind, " unsigned")
		c.DataType, _, _ = strings.Cut(c.DataType, "(")
		return c
	}
	long := func(kind string, length int64) schema.Column {
		return schema.Column{Name: "a", Type: kind, DataType: kind, Length: length}
	}
	for _, c := range []struct {
		from, to schema.Column
		want     string
	}{
		{typed("int"), typed("int unsigned"), "`a`"},
		{typed("int unsigned"), typed("int"), "COALESCE(`a`)"},
		{typed("int unsigned"), typed("bigint"), "`a`"},
		{typed("longtext"), typed("text"), "COALESCE(`a`)"},
		{typed("text"), typed("blob"), "`a`"},
		{typed("text"), typed("longtext"), "`a`"},
		{typed("mediumblob"), typed("tinytext"), "COALESCE(`a`)"},
		{typed("json"), typed("mediumtext"), "COALESCE(`a`)"},
		{typed("geometry"), typed("blob"), "COALESCE(`a`)"},
		{long("varchar", 64), typed("tinytext"), "COALESCE(`a`)"},
		{long("varchar", 60), typed("tinytext"), "`a`"},
		{long("varbinary", 256), typed("tinyblob"), "COALESCE(`a`)"},
		{long("varchar", 256), long("varchar", 10), "`a`"},
		{typed("int"), typed("tinytext"), "`a`"},
		{typed("float"), typed("float(7,2)"), "COALESCE(`a`)"},
		{typed("float(7,2)"), typed("float"), "`a`"},
		{typed("float"), typed("varchar"), "CONCAT(`a`)"},
		{typed("double"), typed("blob"), "CONCAT(`a`)"},
		{typed("double"), typed("json"), "CONCAT(`a`)"},
		{typed("year"), typed("json"), "CONCAT(`a`)"},
		{typed("decimal"), typed("json"), "CONCAT(`a`)"},
		{typed("varchar"), typed("json"), "`a`"},
		{typed("bit"), typed("json"), "`a`"},
		{typed("decimal"), typed("varchar"), "`a`"},
	} {
		if got := expression(c.from, c.to, false); got != c.want {
			t.Errorf("%s to %s: %s, want %s", c.from.Type, c.to.Type, got, c.want)
		}
	}
}

// TestRenamesAreNamed: a plan warns of each column whose name changes by more than its case, because statements of the application name it.
func TestRenamesAreNamed(t *testing.T) {
	for _, c := range []struct{ clauses, want string }{
		{"RENAME COLUMN a TO z, CHANGE b y VARCHAR(40)", "column a becomes z, column b becomes y"},
		{"CHANGE a A INT, MODIFY b VARCHAR(50)", ""},
	} {
		facts, table := good(), orders(usual, "PRIMARY: id", "b: b")
		p, err := Make(facts, table, alter(t, c.clauses), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range p.Risks {
			if r.Code == CodeRenames {
				got = append(got, r.What)
			}
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%s: %q, want %q", c.clauses, got, c.want)
		}
	}
}
