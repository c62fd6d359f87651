package session

import (
	"errors"
	"fmt"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/ddl"
	"midstream/internal/mysql/schema"
)

// Moved returns the arguments of a command line: a RENAME TABLE, if it has only a table and where that goes (--into).
func (t *Target) Moved(args []string, into plan.Into) []string {
	name, err := schema.ParseName(t.Database, t.Table)
	if !into.Given() || len(args) > 0 || t.Alter != "" || t.To != "" || t.Undo || err != nil {
		return args
	}
	t.Database, t.Table = "", ""
	return []string{"RENAME TABLE " + name.Quoted() + " TO " + into.Name.Quoted()}
}

// CheckInto returns what is wrong with --into and --into-view.
func CheckInto(statement *ddl.Statement, into plan.Into) error {
	renames := func() bool {
		return len(statement.Renames) == 1 && statement.Renames[0].To == into.Name
	}
	switch {
	case into.View && !into.Given():
		return errors.New("--into-view needs --into")
	case into.Given() && statement == nil:
		return errors.New("--into needs a statement: --to makes tables equal to files, by their names")
	case !into.Given() || statement.Kind == ddl.KindAlter:
		return nil
	case statement.Kind != ddl.KindRename || !renames():
		return fmt.Errorf("--into is for ALTER TABLE, and not for %s", statement.Kind)
	case into.View:
		return errors.New("--into-view needs a change that builds a new table, such as --alter=ENGINE=InnoDB: the server renames no view under a lock of ours")
	}
	return nil
}
