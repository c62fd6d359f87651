package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
)

// Filling is what an undo lacks for rows that are new since the swap: values of columns that it brings back, and that have no
// default.
type Filling struct {
	Columns []schema.Column
	// Given are the expressions that the undo has already, by their columns.
	Given map[string]string
	// Grouped means that a flag begins with its table: several tables are taken back in one step.
	Grouped bool
}

// With is what is lacked if there are settings of --undo-fill, each column=expression.
func (f Filling) With(settings []string) Filling {
	given := map[string]string{}
	for _, setting := range settings {
		if name, value, is := strings.Cut(setting, "="); is {
			given[name] = value
		}
	}
	return Filling{Given: given, Columns: slices.DeleteFunc(slices.Clone(f.Columns), func(c schema.Column) bool {
		return slices.ContainsFunc(slices.Collect(maps.Keys(given)), func(name string) bool { return strings.EqualFold(name, c.Name) })
	})}
}

// Lacks describes what is lacked; "" for nothing.
func (f Filling) Lacks() string {
	if len(f.Columns) == 0 {
		return ""
	}
	return "a value for " + strings.Join(f.Names(), ", ") + " (no default)"
}

// Names are those of the columns.
func (f Filling) Names() []string {
	names := make([]string, len(f.Columns))
	for i, c := range f.Columns {
		names[i] = c.Name
	}
	return names
}

// Values are an expression for each column, by its name: those given, and an example for each of the others.
func (f Filling) Values() map[string]string {
	values := map[string]string{}
	maps.Copy(values, f.Given)
	for _, c := range f.Columns {
		values[c.Name] = exampleOf(c)
	}
	return values
}

// Settings are column=expression for each column: those given, and an example for each of the others.
func (f Filling) Settings() (settings []string) {
	for _, name := range slices.Sorted(maps.Keys(f.Given)) {
		settings = append(settings, name+"="+f.Given[name])
	}
	for _, c := range f.Columns {
		settings = append(settings, c.Name+"="+exampleOf(c))
	}
	return settings
}

// Command is the undo of a table with a value for each column, and with more flags.
func (f Filling) Command(table schema.Name, more ...string) string {
	of := ""
	if f.Grouped {
		of = table.Dotted() + ": "
	}
	return "midstream undo  " + strings.TrimSpace(f.Flags("--undo-fill "+of)+" "+strings.Join(append(more, table.Argument()), " "))
}

// Flags are flags for a shell, each with what precedes a setting. Most texts are in single quotes, and so the flags in double ones.
func (f Filling) Flags(flag string) (flags string) {
	for _, setting := range f.Settings() {
		name, before, _ := strings.Cut(flag, " ")
		quoted := schema.Shell(before + setting)
		if strings.Contains(setting, "'") && !strings.ContainsAny(setting, "\"$`\\!") && escape.Line(setting) == setting {
			quoted = `"` + before + setting + `"`
		}
		flags += " " + name + " " + quoted
	}
	return flags
}

// AtFollower is what to do if a process follows the table: it takes no values.
func (f Filling) AtFollower(table schema.Name) string {
	return fmt.Sprintf("stop the process that follows the table, then give the values: midstream abort  %s, then %s", table.Argument(), f.Command(table))
}

// exampleOf is an expression for values of a column, the implicit default of its type if that is one.
func exampleOf(c schema.Column) string {
	spatial := map[string]string{
		"point": "POINT(0 0)", "geometry": "POINT(0 0)", "linestring": "LINESTRING(0 0,1 1)", "polygon": "POLYGON((0 0,0 1,1 1,0 0))",
		"multipoint": "MULTIPOINT(0 0)", "multilinestring": "MULTILINESTRING((0 0,1 1))", "multipolygon": "MULTIPOLYGON(((0 0,0 1,1 1,0 0)))",
		"geomcollection": "GEOMETRYCOLLECTION(POINT(0 0))", "geometrycollection": "GEOMETRYCOLLECTION(POINT(0 0))",
	}
	switch text, is := spatial[c.DataType]; {
	case is && srid(c) != "":
		return fmt.Sprintf("ST_GeomFromText('%s', %s)", text, srid(c))
	case is:
		return "ST_GeomFromText('" + text + "')"
	case c.DataType == "enum" && len(c.Members) > 0:
		return schema.Literal(c.Members[0])
	case c.DataType == "date":
		return "CURRENT_DATE"
	case c.DataType == "datetime", c.DataType == "timestamp":
		return "NOW()"
	case c.DataType == "json":
		return "'{}'"
	case c.DataType == "vector":
		return fmt.Sprintf("REPEAT(X'00', %d)", c.Length)
	}
	if value := implicit(c, false); value != "" {
		return value
	}
	return "''"
}
