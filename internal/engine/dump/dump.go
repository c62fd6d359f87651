// Package dump writes the tables of a database as files of CREATE TABLE, in the form that
// engine/desired finds equal to the tables.
package dump

import (
	"bufio"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"midstream/internal/engine/desired"
	"midstream/internal/engine/facts"
	"midstream/internal/mysql/escape"
	"midstream/internal/mysql/schema"
	"midstream/internal/mysql/schema/token"
)

// List is the file of a folder with the checksums of the files that a dump has written.
const List = ".midstream-dump"

// Options are what is dumped, and where to.
type Options struct {
	Database string
	Folder   string
	// Force replaces files that have been changed, or that no dump has written.
	Force bool
	// Prune removes files of earlier dumps whose tables do not exist now, unless they have been changed.
	Prune bool
}

// Result is what a dump has done.
type Result struct {
	Written   []string // names of files
	Unchanged int      // number of files that had the text already
	// Skipped is the number of objects that have no CREATE TABLE, or are Midstream's own, by their kind.
	Skipped map[string]int
	// Former are files of earlier dumps whose tables do not exist now, and that are left.
	Former []string
	// Removed are such files that were removed.
	Removed []string
}

// Refused are the reasons against writing the files. Nothing was written.
type Refused struct{ Problems []error }

func (r *Refused) Error() string {
	if len(r.Problems) == 1 {
		return escape.Error(r.Problems[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d problems with the files", len(r.Problems))
	for _, p := range r.Problems {
		b.WriteString("\n- " + escape.Error(p))
	}
	return b.String()
}

// dumping is a dump at work.
type dumping struct {
	Options
	dialect token.Dialect
	texts   map[string]string      // by name of file
	tables  map[schema.Name]string // the name of its file
	listed  map[string]string      // checksums of the list
	result  Result
}

// Unfinished is the error of a dump that may have written some of its files.
type Unfinished struct{ Err error }

func (u *Unfinished) Error() string { return u.Err.Error() }
func (u *Unfinished) Unwrap() error { return u.Err }

// Check returns what is wrong with the command line.
func (o *Options) Check(args []string) error {
	var extra, missing error
	if len(args) > 0 {
		extra = fmt.Errorf("dump takes no arguments, got %q", args)
	}
	if o.Database == "" || o.Folder == "" {
		missing = errors.New("name the database and the folder: midstream dump --database=shop --out=schema/")
	}
	return errors.Join(extra, missing)
}

// Run reads all tables, checks the folder, and then writes the files that differ, each of them atomically. The
// error is a *Refused if a file must not be replaced, and an *Unfinished if some may be written.
func Run(ctx context.Context, db *sql.DB, o Options) (Result, error) {
	d := &dumping{Options: o, texts: map[string]string{}, tables: map[schema.Name]string{}, result: Result{Skipped: map[string]int{}}}
	if err := d.read(ctx, db); err != nil {
		return Result{}, err
	}
	if err := os.MkdirAll(o.Folder, 0o755); err != nil {
		return Result{}, err
	}
	var err error
	if d.listed, err = readList(filepath.Join(o.Folder, List)); err != nil {
		return Result{}, err
	}
	if problems := d.check(); len(problems) > 0 {
		return Result{}, &Refused{Problems: problems}
	}
	return d.result, d.write()
}

// read reads the definitions.
func (d *dumping) read(ctx context.Context, db *sql.DB) (err error) {
	if d.dialect, err = facts.ReadDialect(ctx, db); err != nil {
		return err
	}
	names, err := d.names(ctx, db)
	if err != nil {
		return fmt.Errorf("list the tables of %s: %w", d.Database, err)
	}
	files := filesOf(names)
	for i, name := range names {
		table, err := schema.LoadOwn(ctx, db, schema.Name{Schema: d.Database, Table: name})
		if err != nil {
			return err
		}
		text, err := textOf(table.Create, d.dialect)
		if err != nil {
			return fmt.Errorf("%s: %w", table.Name, err)
		}
		d.texts[files[i]], d.tables[table.Name] = text, files[i]
	}
	return nil
}

// errNoDatabase means that the database does not exist, or that the account may not see it.
var errNoDatabase = errors.New("the database does not exist, or this account has no privilege on it")

// names are the tables that are dumped.
func (d *dumping) names(ctx context.Context, db *sql.DB) (names []string, err error) {
	var known string
	err = db.QueryRowContext(ctx, "SELECT schema_name FROM information_schema.schemata WHERE schema_name = ?", d.Database).Scan(&known)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoDatabase
	}
	if err != nil {
		return nil, err
	}
	d.Database = known // in the server's spelling
	rows, err := db.QueryContext(ctx, `SELECT table_name, table_type, IFNULL(table_comment, '') LIKE ? FROM information_schema.tables
		WHERE table_schema = ? ORDER BY table_name`, schema.Mark+"%", known)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name, kind string
		var own bool
		if err := rows.Scan(&name, &kind, &own); err != nil {
			return nil, err
		}
		switch {
		case kind == "VIEW" || kind == "SEQUENCE":
			d.result.Skipped[strings.ToLower(kind)]++
		case kind != "BASE TABLE": // SYSTEM VERSIONED
			d.result.Skipped[strings.ToLower(kind)+" table"]++
		case own:
			d.result.Skipped["Midstream table"]++
		default:
			names = append(names, name)
		}
	}
	return names, rows.Err()
}

// check returns the reasons against writing.
func (d *dumping) check() (problems []error) {
	for _, file := range slices.Sorted(maps.Keys(d.texts)) {
		text, err := os.ReadFile(filepath.Join(d.Folder, file))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			d.result.Written = append(d.result.Written, file)
		case err != nil:
			problems = append(problems, err)
		case string(text) == d.texts[file]:
			d.result.Unchanged++
		case d.Force || d.listed[file] == sum(string(text)):
			d.result.Written = append(d.result.Written, file)
		default:
			why := "was changed since the last dump, or no dump has written it"
			problems = append(problems, fmt.Errorf("%s %s, and the table differs from it", filepath.Join(d.Folder, file), why))
		}
	}
	for file := range d.listed {
		text, err := os.ReadFile(filepath.Join(d.Folder, file))
		switch {
		case d.texts[file] != "" || errors.Is(err, fs.ErrNotExist):
		case err == nil && d.Prune && (d.Force || d.listed[file] == sum(string(text))):
			d.result.Removed = append(d.result.Removed, file)
		default:
			d.result.Former = append(d.result.Former, file)
		}
	}
	slices.Sort(d.result.Removed)
	slices.Sort(d.result.Former)
	return append(problems, d.elsewhere()...)
}

// elsewhere finds tables that another file of the folder defines: with ours, --to would find them twice.
func (d *dumping) elsewhere() (problems []error) {
	others, err := filepath.Glob(filepath.Join(escapeGlob(d.Folder), "*.[sS][qQ][lL]"))
	if err != nil || len(others) == 0 || d.Force {
		return nil
	}
	statements, err := desired.Read(d.dialect, d.Folder, d.Database)
	if err != nil {
		return []error{fmt.Errorf("the folder has a file that --to does not read: %w", err)}
	}
	for _, s := range statements {
		if file := d.tables[s.Name]; file != "" && filepath.Base(s.File) != file {
			problems = append(problems, fmt.Errorf("table %s is defined at %s already, and the dump would write it into %s", s.Name, s.Place(), file))
		}
	}
	return problems
}

// escapeGlob escapes what a pattern reads in another way.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// write writes the files into a folder next to them, has --to's reader read them, and moves them.
func (d *dumping) write() error {
	if len(d.texts)+len(d.result.Removed) == 0 {
		return nil
	}
	drafts, err := os.MkdirTemp(d.Folder, List+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(drafts)
	for file, text := range d.texts {
		if err := writeSynced(filepath.Join(drafts, file), text); err != nil {
			return err
		}
	}
	var statements []desired.Statement
	if len(d.texts) > 0 {
		statements, err = desired.Read(d.dialect, drafts, d.Database)
	}
	if err == nil && len(statements) != len(d.texts) {
		err = fmt.Errorf("%d definitions in %d files", len(statements), len(d.texts))
	}
	if err != nil {
		return fmt.Errorf("--to would not read what the server shows: %w", err)
	}
	if err := d.move(drafts); err != nil {
		return &Unfinished{Err: err}
	}
	return nil
}

// move moves the files that differ into the folder, and then the list.
func (d *dumping) move(drafts string) error {
	for _, file := range d.result.Written {
		if err := os.Rename(filepath.Join(drafts, file), filepath.Join(d.Folder, file)); err != nil {
			return err
		}
	}
	for _, file := range d.result.Removed {
		if err := os.Remove(filepath.Join(d.Folder, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	listed := map[string]string{}
	for _, file := range d.result.Former {
		listed[file] = d.listed[file]
	}
	for file, text := range d.texts {
		listed[file] = sum(text)
	}
	var list strings.Builder
	for _, file := range slices.Sorted(maps.Keys(listed)) {
		list.WriteString(listed[file] + "  " + file + "\n")
	}
	if err := writeSynced(filepath.Join(drafts, List), list.String()); err != nil {
		return err
	}
	return os.Rename(filepath.Join(drafts, List), filepath.Join(d.Folder, List))
}

func sum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// writeSynced writes a new file to the disk.
func writeSynced(path, text string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// readList reads checksums by name of file, as sha256sum writes them.
func readList(path string) (map[string]string, error) {
	listed := map[string]string{}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return listed, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if checksum, name, found := strings.Cut(lines.Text(), "  "); found && filepath.Base(name) == name {
			listed[name] = checksum
		}
	}
	return listed, lines.Err()
}
