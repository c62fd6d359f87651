package ptosc

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"midstream/internal/mysql/schema"
)

// history is the table of jobs, as that program has it.
type history struct {
	wanted bool
	binary bool   // its columns of boundaries are BLOBs
	table  string // database.table
	resume string // the number of a job; "" for none
	job    int64  // 0: none is written
}

// name is the table's.
func (h *history) name() (quoted, database string, err error) {
	database, table, both := strings.Cut(strings.ReplaceAll(h.table, "`", ""), ".")
	if !both || database == "" || table == "" {
		return "", "", errors.New("must be database.table")
	}
	return schema.Name{Schema: database, Table: table}.Quoted(), schema.Quote(database), nil
}

// begin writes the job, or finds the one that is to be gone on with.
func (h *history) begin(ctx context.Context, db *sql.DB, a *Asked) error {
	if !h.wanted && h.resume == "" {
		return nil
	}
	name, database, err := h.name()
	if err != nil {
		return err
	}
	if h.resume != "" {
		return h.find(ctx, db, name, a)
	}
	boundary := "TEXT"
	if h.binary {
		boundary = "BLOB"
	}
	for _, statement := range []string{
		"CREATE DATABASE IF NOT EXISTS " + database,
		"CREATE TABLE IF NOT EXISTS " + name + " (job_id INT NOT NULL AUTO_INCREMENT, db CHAR(64) NOT NULL, tbl CHAR(64) NOT NULL, new_table_name CHAR(64), " +
			"altr TEXT NOT NULL, args TEXT NOT NULL, lower_boundary " + boundary + ", upper_boundary " + boundary + ", done ENUM('yes','no') NOT NULL DEFAULT 'no', " +
			"ts TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, PRIMARY KEY (job_id)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("create the history table %s: %w", name, err)
		}
	}
	args, err := json.Marshal(a.arguments())
	if err != nil {
		return fmt.Errorf("write the job: %w", err)
	}
	result, err := db.ExecContext(
		ctx, "INSERT INTO "+name+" (db, tbl, altr, args) VALUES (?, ?, ?, ?)", a.Table.Schema, a.Table.Table,
		a.said.last("alter"), string(args),
	)
	if err != nil {
		return fmt.Errorf("write the job into %s: %w", name, err)
	}
	h.job, err = result.LastInsertId()
	return err
}

// find looks for a job that is not done and is one of the same change.
func (h *history) find(ctx context.Context, db *sql.DB, name string, a *Asked) error {
	id, err := strconv.ParseInt(h.resume, 10, 64)
	if err != nil {
		return fmt.Errorf("Cannot resume: %s is not the number of a job", h.resume)
	}
	var database, table, alter, done string
	err = db.QueryRowContext(ctx, "SELECT db, tbl, altr, done FROM "+name+" WHERE job_id = ?", id).Scan(&database, &table, &alter, &done)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("Cannot resume: %[2]s has no job %[1]d", id, name)
	case err != nil:
		return fmt.Errorf("look for the job in %s: %w", name, err)
	case done == yes:
		return fmt.Errorf("Cannot resume: job %d is done", id)
	case database != a.Table.Schema || table != a.Table.Table || alter != a.said.last("alter"):
		return fmt.Errorf("Cannot resume: job %d is of ALTER TABLE `%s`.`%s` %s", id, database, table, alter)
	}
	h.job = id
	return nil
}

// arguments are the options as that program writes them down, without passwords.
func (a *Asked) arguments() map[string]string {
	list := map[string]string{}
	for name := range a.said {
		if !strings.HasSuffix(name, "password") {
			list[name] = a.said.last(name)
		}
	}
	return list
}

// Finish writes that the job is done.
func (a *Asked) Finish(ctx context.Context, db *sql.DB) error {
	if a.history.job == 0 {
		return nil
	}
	name, _, err := a.history.name()
	if err == nil {
		_, err = db.ExecContext(ctx, "UPDATE "+name+" SET done = 'yes' WHERE job_id = ?", a.history.job)
	}
	if err != nil {
		return fmt.Errorf("write that job %d is done: %w", a.history.job, err)
	}
	return nil
}
