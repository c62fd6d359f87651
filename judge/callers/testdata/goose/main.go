// Program goose is an application's own goose, with a migration in Go that calls midstream.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"

	"github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"
)

// alter runs a statement by midstream, in the database of the migration.
func alter(statement string) goose.GoMigrationNoTxContext {
	return func(ctx context.Context, _ *sql.DB) error {
		to, err := mysql.ParseDSN(os.Getenv("DSN"))
		if err != nil {
			return err
		}
		host, port, err := net.SplitHostPort(to.Addr)
		if err != nil {
			return err
		}
		cmd := exec.Command("midstream", "run", "--host="+host, "--port="+port, "--user="+to.User, "--database="+to.DBName, statement)
		cmd.Env = append(os.Environ(), "MYSQL_PWD="+to.Passwd)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd.Run()
	}
}

func main() {
	err := migrate()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(ended.ExitCode()) // docs/exit-codes.md
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func migrate() error {
	db, err := sql.Open("mysql", os.Getenv("DSN"))
	if err != nil {
		return err
	}
	goose.AddNamedMigrationNoTxContext("00007_note.go", alter("ALTER TABLE orders ADD COLUMN note VARCHAR(40)"), nil)
	if err := goose.SetDialect("mysql"); err != nil {
		return err
	}
	return goose.RunContext(context.Background(), os.Args[1], db, ".")
}
