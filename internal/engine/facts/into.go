package facts

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"midstream/internal/engine/plan"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/mysql/schema"
)

// GatherInto reads what a plan must know of the place to which the swap takes the new table, and what names the source.
func GatherInto(ctx context.Context, q schema.Querier, f *plan.Facts, source schema.Name, into plan.Into) (*plan.IntoFacts, error) {
	i, err := GatherBehind(ctx, q, source)
	if err != nil {
		return nil, err
	}
	for _, step := range []struct {
		what string
		read func() error
	}{
		{"the database " + into.Name.Schema, func() error { return readDatabase(ctx, q, f, i, source, into) }},
		{"what is called " + into.Name.String(), func() (err error) {
			i.Kind, i.Definition, err = readObject(ctx, q, into.Name)
			return err
		}},
		{"what is called " + plan.ViewOf(source).String(), func() (err error) {
			i.ViewKind, i.ViewDefinition, err = readObject(ctx, q, plan.ViewOf(source))
			return err
		}},
	} {
		if err := step.read(); err != nil {
			return nil, fmt.Errorf("read %s: %w", step.what, err)
		}
	}
	return i, nil
}

// GatherBehind reads what names a table and the grants on it: they do not follow it to another name.
func GatherBehind(ctx context.Context, q schema.Querier, source schema.Name) (i *plan.IntoFacts, err error) {
	i = &plan.IntoFacts{}
	if i.Dependents, err = GatherDependents(ctx, q, source); err != nil {
		return nil, fmt.Errorf("look for what names %s: %w", source, err)
	}
	if err := readTableGrants(ctx, q, i, source); err != nil {
		return nil, fmt.Errorf("read the grants on %s: %w", source, err)
	}
	return i, nil
}

// readDatabase reads whether the other database exists, and how its defaults for encryption differ.
func readDatabase(ctx context.Context, q schema.Querier, f *plan.Facts, i *plan.IntoFacts, source schema.Name, into plan.Into) error {
	var name string
	const find = "SELECT schema_name FROM information_schema.schemata WHERE schema_name = ?"
	err := q.QueryRowContext(ctx, find, into.Name.Schema).Scan(&name)
	if i.NoDatabase = errors.Is(err, sql.ErrNoRows); i.NoDatabase {
		return nil
	}
	if err != nil || f.Version.MariaDB || !f.Version.AtLeast(8, 0, 16) {
		return err
	}
	for database, to := range map[string]*string{source.Schema: &i.Encryption, into.Name.Schema: &i.Encrypts} {
		const read = "SELECT default_encryption FROM information_schema.schemata WHERE schema_name = ?"
		if err := q.QueryRowContext(ctx, read, database).Scan(to); err != nil {
			return err
		}
	}
	return q.QueryRowContext(ctx, "SELECT @@GLOBAL.table_encryption_privilege_check").Scan(&i.EncryptionChecked)
}

// readObject returns the kind of what has a name, "" for nothing, and the definition of a view.
func readObject(ctx context.Context, q schema.Querier, name schema.Name) (kind, definition string, err error) {
	err = q.QueryRowContext(ctx, "SELECT table_type FROM information_schema.tables WHERE table_schema = ? AND table_name = ?", name.Schema, name.Table).Scan(&kind)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", nil
	}
	if err != nil || kind != "VIEW" {
		return kind, "", err
	}
	definition, err = ViewDefinition(ctx, q, name)
	return kind, definition, err
}

// ViewDefinition returns the definition of a view, as information_schema has it; "" if there is no such view, or the account may not see it.
func ViewDefinition(ctx context.Context, q schema.Querier, name schema.Name) (definition string, err error) {
	err = q.QueryRowContext(ctx, "SELECT view_definition FROM information_schema.views WHERE table_schema = ? AND table_name = ?", name.Schema, name.Table).Scan(&definition)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return definition, err
}

// readTableGrants reads the grants on the table and its columns, as far as the account may see them.
func readTableGrants(ctx context.Context, q schema.Querier, i *plan.IntoFacts, source schema.Name) error {
	rows, err := q.QueryContext(ctx, `
		SELECT grantee, GROUP_CONCAT(DISTINCT privilege ORDER BY privilege SEPARATOR ', ') FROM (
		  SELECT grantee, privilege_type AS privilege FROM information_schema.table_privileges WHERE table_schema = ? AND table_name = ?
		  UNION ALL
		  SELECT grantee, CONCAT(privilege_type, ' (', column_name, ')')
		    FROM information_schema.column_privileges WHERE table_schema = ? AND table_name = ?) g
		 GROUP BY grantee ORDER BY grantee`, source.Schema, source.Table, source.Schema, source.Table)
	if dbconn.Denied(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var g plan.TableGrant
		if err := rows.Scan(&g.Grantee, &g.Privileges); err != nil {
			return err
		}
		i.Grants = append(i.Grants, g)
	}
	return rows.Err()
}
