package callers

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// all lists the callers: the real programs, then the replays.
func all() []caller {
	return append([]caller{
		{
			name: "skeema", install: installSkeema, prepare: skeemaFiles, keeps: true, exits: "signal: terminated",
			change: func(s *stage) []command { return []command{s.skeema("push")} },
			check: func(s *stage) error { // exit code 1 is a difference
				_, err := s.run(s.skeema("diff"))
				return err
			},
		},
		{
			name: "skeema, alone", install: installSkeema, prepare: skeemaFiles, keeps: true, alone: true,
			change: func(s *stage) []command { return []command{s.skeema("push")} },
			again: func(s *stage) []command {
				_, err := s.run(s.skeema("push"))
				fmt.Fprintf(&s.said, "[while the run works: %v]\n", err)
				return []command{
					{line: []string{"midstream", "set", database + "." + table, "copy-share=100%"}},
					{shell: "sleep 15"}, // the copy goes on
					s.skeema("push"),
				}
			},
			finds: []look{{pattern: `another run of Midstream is working on the table`, slow: true}},
		},
		{
			name: "golang-migrate", install: installMigrate, keeps: true,
			prepare: func(s *stage) error {
				return s.write("migrations/7_note.up.sql", "ALTER TABLE orders "+clause)
			},
			change: func(s *stage) []command {
				run := fmt.Sprintf(`MYSQL_PWD='%s' midstream run --host=127.0.0.1 --port=%d --user=%s --database=%s "$(cat migrations/7_note.up.sql)"`,
					password, s.server.Port, account, database)
				return []command{{shell: run}, s.migrate("force", "7"), s.migrate("up")}
			},
			check: func(s *stage) error { return s.believes("SELECT version = 7 AND NOT dirty FROM schema_migrations") },
		},
		{
			name: "goose", install: installGoose, keeps: true, exits: "signal: terminated",
			change: func(s *stage) []command { return []command{s.goose("up")} },
			check: func(s *stage) error {
				return s.believes("SELECT MAX(version_id) = 7 FROM goose_db_version WHERE is_applied")
			},
		},
		django("django", true),
		django("django, all processes", false), // SIGTERM reaches midstream twice
		{
			name: "alembic", install: installPython, keeps: true, passesOn: true, exits: "exit status 16",
			prepare: func(s *stage) error { return s.unpack("alembic") },
			change:  func(s *stage) []command { return []command{s.alembic("upgrade", "head")} },
			finds:   []look{{pattern: `(?s)altered \S*shop\.orders.*altered \S*shop\.orders.*altered \S*shop\.orders`}},
			check: func(s *stage) error {
				if out, err := s.run(s.alembic("upgrade", "7:8", "--sql")); err != nil || !strings.Contains(out, "CREATE INDEX note") {
					return fmt.Errorf("alembic --sql: %w: %s", err, out)
				}
				if _, err := s.run(s.alembic("check")); err != nil { // it would drop orders_old without the helper
					return err
				}
				return errors.Join(s.routes("midstream_alembic"), s.believes(`SELECT MAX(version_num) = '8' AND
					(SELECT MIN(note) = 'it''s 100% new' FROM orders) AND
					(SELECT column_comment = '50% : note' FROM information_schema.columns
						WHERE table_schema = 'shop' AND table_name = 'orders' AND column_name = 'note') FROM alembic_version`))
			},
		},
		{
			name: "terraform, local-exec", install: installTerraform, keeps: true, exits: "exit status 1",
			prepare: func(s *stage) error {
				create, err := s.wanted()
				if err != nil {
					return err
				}
				if err := errors.Join(s.unpack("terraform"), s.write("schema/"+table+".sql", create+";\n")); err != nil {
					return err
				}
				_, err = s.run(s.terraform("init"))
				return err
			},
			change: func(s *stage) []command { return []command{s.terraform("apply", "-auto-approve")} },
			finds:  []look{{pattern: `Apply complete! Resources: 1 added, 0 changed, [01] destroyed`}},
			check: func(s *stage) error { // exit code 2 is a difference
				_, err := s.run(s.terraform("plan", "-detailed-exitcode"))
				return err
			},
		},
		liquibase("liquibase", false),
		liquibase("liquibase, options", true, "--no-drop-new-table"),
	}, replays()...)
}

// django is Django with the backend of contrib. SIGTERM goes to Django alone, or to all processes.
func django(name string, alone bool) caller {
	return caller{
		name: name, install: installPython, keeps: true, passesOn: alone, exits: "exit status 16",
		prepare: func(s *stage) error {
			if err := s.unpack("django"); err != nil {
				return err
			}
			_, err := s.run(s.django("migrate", "--fake", "shop", "0001"))
			return err
		},
		change: func(s *stage) []command { return []command{s.django("migrate", "shop")} },
		finds:  []look{{pattern: `(?s)altered \S*shop\.orders.*altered \S*shop\.orders`}, {pattern: `altered \S*shop_line`, no: true}},
		check: func(s *stage) error {
			if _, err := s.run(s.django("makemigrations", "--check", "shop")); err != nil {
				return err
			}
			return errors.Join(s.routes("midstream_django.base"), s.believes(
				`SELECT COUNT(*) = 3 AND (SELECT MIN(note) = 'it''s 100% new' FROM orders) FROM django_migrations WHERE app = 'shop'`,
			))
		},
	}
}

// liquibase is Liquibase with options of pt-online-schema-change, which may keep the work.
func liquibase(name string, keeps bool, options ...string) caller {
	return caller{
		name: name, install: installMaven, keeps: keeps, exits: "exit status 143",
		prepare: func(s *stage) error { return s.unpack("liquibase") },
		change:  func(s *stage) []command { return []command{s.liquibase("update", options...)} },
		again: func(s *stage) []command {
			return []command{s.liquibase("releaseLocks", options...), s.liquibase("update", options...)}
		},
		finds: []look{
			{pattern: `Using percona toolkit: 3\.\d+\.\d+`},
			{pattern: "Successfully altered `shop`.`orders`"},
		},
		check: func(s *stage) error {
			return s.believes("SELECT COUNT(*) = 1 FROM DATABASECHANGELOG WHERE EXECTYPE = 'EXECUTED'")
		},
	}
}

// routes checks which statements a Python module of contrib hands to midstream.
func (s *stage) routes(module string) error {
	takes := s.django("-c", `import pymysql

pymysql.install_as_MySQLdb()
import `+module+` as m

for statement, taken in {
    "ALTER TABLE `+"`t`"+` ADD COLUMN a INT": True,
    "CREATE UNIQUE INDEX `+"`i` ON `t` (`a`)"+`": True,
    "DROP INDEX `+"`i` ON `t`"+`": True,
    "ALTER TABLE `+"`t`"+` DROP FOREIGN KEY `+"`k`"+`, ADD COLUMN a INT": True,
    "ALTER TABLE `+"`t`"+` DROP FOREIGN KEY `+"`k`"+`": False,
    "CREATE TABLE `+"`t`"+` (a INT)": False,
    "DROP TABLE `+"`t`"+`": False,
}.items():
    assert bool(m.ALTERS.match(statement)) == taken, statement
`)
	takes.line = slices.Delete(takes.line, 1, 2) // manage.py
	takes.env = append(takes.env, "PYTHONPATH="+filepath.Join(s.contrib, "django")+":"+filepath.Join(s.contrib, "alembic"))
	_, err := s.run(takes)
	return err
}

// believes asks the caller's own table, by a query whose answer is true.
func (s *stage) believes(query string) error {
	conn, err := s.pool.DB().Conn(s.ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(s.ctx, "USE "+database); err != nil {
		return err
	}
	var is bool
	if err := conn.QueryRowContext(s.ctx, query).Scan(&is); err != nil || !is {
		return fmt.Errorf("the caller does not know that the change is done (%w): %s", err, query)
	}
	_, err = conn.ExecContext(s.ctx, "USE mysql")
	return err
}

// wanted is the table's definition with the new column.
func (s *stage) wanted() (string, error) {
	var name, create string
	err := s.pool.DB().QueryRowContext(s.ctx, "SHOW CREATE TABLE "+database+"."+table).Scan(&name, &create)
	return strings.Replace(create, ",\n  PRIMARY KEY", ",\n  `note` varchar(40) DEFAULT NULL,\n  PRIMARY KEY", 1), err
}

// skeemaFiles writes the files of a schema repository, in which the column is new.
func skeemaFiles(s *stage) error {
	create, err := s.wanted()
	if err != nil {
		return err
	}
	if err := s.write("schema/"+table+".sql", create+";\n"); err != nil {
		return err
	}
	return s.write("schema/.skeema", fmt.Sprintf(`host=127.0.0.1
port=%d
user=%s
password='%s'
schema=%s
default-character-set=utf8mb4
allow-charset=ascii,latin1,utf8mb4
ignore-table=_(shadow|midstream|capture|old|undo|undone|parked(_values)?)[0-9]*$
alter-wrapper-min-size=1m
alter-wrapper=MYSQL_PWD={PASSWORDX} midstream run --host={HOST} --port={PORT} --user={USER} --database={SCHEMA} {DDL}
`, s.server.Port, account, password, database))
}

func (s *stage) skeema(verb string) command {
	return command{line: []string{s.tools.skeema(), verb}, dir: filepath.Join(s.home, "schema")}
}

// dsn is a source name as Go's driver reads it.
func (s *stage) dsn(password string) string {
	return fmt.Sprintf("%s:%s@tcp(%s)/%s?parseTime=true", account, password, s.server.Address, database)
}

func (s *stage) migrate(args ...string) command {
	line := []string{s.tools.migrate(), "-path", "migrations", "-database", "mysql://" + s.dsn(url.PathEscape(password))}
	return command{line: append(line, args...)}
}

func (s *stage) goose(args ...string) command {
	return command{line: append([]string{s.tools.goose()}, args...), env: []string{"DSN=" + s.dsn(password)}}
}

func (s *stage) django(args ...string) command {
	return command{
		line: append([]string{s.tools.python(), "manage.py"}, args...),
		env: []string{
			"PYTHONPATH=" + filepath.Join(s.contrib, "django"), "PYTHONDONTWRITEBYTECODE=1",
			fmt.Sprintf("DB_PORT=%d", s.server.Port), "DB_PASSWORD=" + password,
		},
	}
}

func (s *stage) alembic(args ...string) command {
	to := fmt.Sprintf("mysql+pymysql://%s:%s@%s/%s", account, url.PathEscape(password), s.server.Address, database)
	return command{
		line: append([]string{s.tools.python(), "-m", "alembic"}, args...),
		env:  []string{"PYTHONPATH=" + filepath.Join(s.contrib, "alembic"), "PYTHONDONTWRITEBYTECODE=1", "DB_URL=" + to},
	}
}

func (s *stage) terraform(verb string, args ...string) command {
	line := []string{"terraform", verb, "-input=false", "-no-color"}
	if verb != "init" {
		line = append(line, fmt.Sprintf("-var=port=%d", s.server.Port))
	}
	return command{line: append(line, args...), env: []string{"MYSQL_PWD=" + password, "CHECKPOINT_DISABLE=1"}}
}

func (s *stage) liquibase(goal string, options ...string) command {
	to := fmt.Sprintf("jdbc:mysql://%s/%s?allowPublicKeyRetrieval=true", s.server.Address, database)
	return command{
		line: []string{
			"mvn", "--batch-mode", "--no-transfer-progress", "liquibase:" + goal, "-Dliquibase.url=" + to,
			"-Dliquibase.username=" + account, "-Dliquibase.password=" + password,
			"-Dliquibase.percona.path=" + s.dir, "-Dliquibase.percona.defaultOn=true", "-Dliquibase.percona.failIfNoPT=true",
			"-Dliquibase.percona.options=" + strings.Join(options, " "),
		},
	}
}
