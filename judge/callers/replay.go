package callers

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"midstream/internal/lab/sandbox"
)

// progress is how goInception reads how far pt-online-schema-change is:
// github.com/hanchuanchuan/goInception, session/osc.go, regOscPercent and mysqlAnalyzeOscOutput. A
// change that does not print the second text has failed, whatever its exit code.
const (
	goInceptionProgress = `(?m)^Copying .*? (\d+)% (\d+:\d+) remain`
	goInceptionDone     = `(?m)^Successfully altered`
)

// ghostProgress is goInception's regGhostPercent, in the same file.
const ghostProgress = `(?m)^Copy:.*?(\d+).\d+%;.*?ETA: (.*)?`

// gemVersion is what RubyGems takes for a version: ANCHORED_VERSION_PATTERN.
var gemVersion = regexp.MustCompile(`^\s*([0-9]+(\.[0-9a-zA-Z]+)*(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?)?\s*$`)

// replays lists the callers whose command lines are replayed. The lines and the regular expressions are
// those of the sources that the comments name, with this server's address in them.
func replays() []caller {
	return []caller{
		// github.com/departurerb/departure: cli_generator.rb, connection_details.rb and alter_argument.rb. It looks at the exit code.
		{name: "departure (Rails)", change: departure("", "")},
		{name: "departure, PERCONA_ARGS (Rails)", keeps: true, change: departure("", "--no-drop-new-table ")},
		{name: "departure, TLS (Rails)", change: departureTLS},
		// github.com/gumroad/alterity: lib/alterity.rb and lib/alterity/default_configuration.rb. It looks at the exit code.
		{name: "alterity (Rails)", change: func(s *stage) []command {
			return shell(`pt-online-schema-change -h "127.0.0.1" -P "%d" -u "%s" --password "%s" --execute D=%s,t=%s --alter "ADD \`+"`note\\`"+` VARCHAR(40)"`,
				s.server.Port, account, password, database, table)
		}},
		// github.com/Daursu/laravel-zero-downtime-migration: src/Connections/PtOnlineSchemaChangeConnection.php, and
		// src/Transformers/PtOnlineSchemaChange/UpdateForeignKeys.php.
		{
			name: "zero-downtime-migration, pt-osc (Laravel)", change: zeroDowntime(table, "add `note` varchar(40) null"), check: dropsForeignKey,
		},
		// With work that is kept, its DropOldTables.php drops the new table of the run before.
		{
			name: "zero-downtime-migration, DropOldTables (Laravel)", keeps: true, change: zeroDowntime(table, "add `note` varchar(40) null", "--no-drop-new-table"),
			again: func(s *stage) []command {
				_, err := s.pool.DB().ExecContext(s.ctx, "DROP TABLE IF EXISTS "+database+"._"+table+"_new")
				fmt.Fprintf(&s.said, "DROP TABLE IF EXISTS _%s_new: %v\n", table, err)
				return zeroDowntime(table, "add `note` varchar(40) null", "--no-drop-new-table")(s)
			},
		},
		// The same package: src/Connections/GhostConnection.php.
		{name: "zero-downtime-migration, gh-ost (Laravel)", change: zeroGhost(), finds: []look{{pattern: ghostProgress, first: true}}},
		{name: "zero-downtime-migration, gh-ost --checkpoint (Laravel)", change: zeroGhost("--checkpoint"), keeps: true},
		// github.com/orisintel/laravel-online-migrator: src/Strategy/PtOnlineSchemaChange.php. It looks at the exit code.
		{name: "online-migrator (Laravel)", change: func(s *stage) []command {
			return shell("pt-online-schema-change --alter 'add `note` varchar(40) null' D='%s,t=%s' --host '127.0.0.1' --port '%d' --user '%s' --password '%s'"+
				" --alter-foreign-keys-method=auto --no-check-alter --no-check-unique-key-change --execute 2>&1", database, table, s.server.Port, account, password)
		}},
		// github.com/hanchuanchuan/goInception: session/osc.go, mysqlExecuteAlterTableOsc.
		{name: "goInception", change: func(s *stage) []command {
			return shell("pt-online-schema-change --alter \"ADD COLUMN \\`note\\` VARCHAR(40)\"  --charset=utf8  --chunk-time 0.05  "+
				"--critical-load Threads_connected:1000,Threads_running:80  --max-load Threads_connected:1000,Threads_running:80  "+
				"--recurse=1  --check-interval 5  --no-check-unique-key-change  --no-check-alter  --alter-foreign-keys-method=none --force  --execute  "+
				"--statistics  --max-lag=3 --no-version-check  --recursion-method=processlist --progress percentage,1  "+
				`--user="%s" --password='%s' --host=127.0.0.1 --port=%d D=%s,t='%s'`, account, password, s.server.Port, database, table)
		}, finds: []look{{pattern: goInceptionProgress, slow: true}, {pattern: goInceptionDone}}},
		// github.com/WeTransfer/ghost_adapter: lib/ghost_adapter/command.rb and version_checker.rb, whose Gem::Version takes all of the
		// standard output: VERSION_PATTERN of RubyGems' lib/rubygems/version.rb.
		{name: "ghost_adapter (Rails)", change: func(s *stage) []command {
			return []command{{line: []string{
				"gh-ost", "--alter=ADD `note` varchar(40)", "--table=" + table, "--database=" + database, "--allow-on-master", "--host=127.0.0.1",
				"--password=" + password, fmt.Sprintf("--port=%d", s.server.Port), "--user=" + account, "--execute",
			}}}
		}, check: func(s *stage) error {
			out, err := s.run(command{line: []string{"gh-ost", "--version"}})
			if err == nil && !gemVersion.MatchString(out) {
				err = fmt.Errorf("Gem::Version.new raises an ArgumentError: %q", out)
			}
			return err
		}},
	}
}

// departure is the command line of Departure, with what it puts behind the host for TLS, and with the user's options.
func departure(tls, args string) func(s *stage) []command {
	return func(s *stage) []command {
		return shell(`pt-online-schema-change -h "127.0.0.1%s" -P %d -u %s --password %s  %s--execute --statistics --alter-foreign-keys-method=auto`+
			` --no-check-alter D=%s,t=%s --alter "ADD COLUMN \`+"`note\\`"+` VARCHAR(40)" 2>&1`,
			tls, s.server.Port, account, strings.ReplaceAll(password, " ", `\ `), args, database, table)
	}
}

// departureTLS is Departure with the server's own CA, which MariaDB has only in its memory.
func departureTLS(s *stage) []command {
	var folder string
	_ = s.pool.DB().QueryRowContext(s.ctx, "SELECT @@datadir").Scan(&folder)
	tls := ";mysql_ssl=1"
	if ca := filepath.Join(folder, "ca.pem"); exists(ca) {
		tls += ";mysql_ssl_client_ca=" + ca
	}
	return departure(tls, "")(s)
}

// zeroDowntime is the command line of zero-downtime-migration, with the parameters of its README and more.
func zeroDowntime(of, alter string, more ...string) func(s *stage) []command {
	return func(s *stage) []command {
		line := []string{
			"pt-online-schema-change", "--execute",
			"--nocheck-replication-filters", "--nocheck-unique-key-change", "--recursion-method=none", "--chunk-size=2000",
		}
		to := fmt.Sprintf("h=127.0.0.1,P=%d,D=%s,u=%s,p=%s,t=%s", s.server.Port, database, account, password, of)
		return []command{{line: append(append(line, more...), "--alter", alter, to)}}
	}
}

// zeroGhost is the other command line of zero-downtime-migration, with the parameters of its README that fit a server without replicas.
func zeroGhost(more ...string) func(s *stage) []command {
	return func(s *stage) []command {
		line := []string{
			"gh-ost", "--max-load=Threads_running=25", "--critical-load=Threads_running=1000", "--chunk-size=1000", "--max-lag-millis=1500",
			"--verbose", "--switch-to-rbr", "--exact-rowcount", "--concurrent-rowcount", "--default-retries=120", "--allow-on-master",
		}
		return []command{{line: append(append(line, more...),
			"--user="+account, "--password="+password, "--host=127.0.0.1", fmt.Sprintf("--port=%d", s.server.Port),
			"--database="+database, "--table="+table, "--alter=add `note` varchar(40) null", "--execute",
		)}}
	}
}

// What zero-downtime-migration looks for: UpdateForeignKeys.php. The names that a dry run prints take the
// place of those in the query, because pt-online-schema-change gives foreign keys another name.
var (
	dropsKey  = regexp.MustCompile("(?i)drop foreign key `(.*?)`")
	namesOfIt = regexp.MustCompile("(?i)constraint `(.*?)`")
)

// dropsForeignKey drops a foreign key as zero-downtime-migration does: with a dry run before.
func dropsForeignKey(s *stage) error {
	for _, statement := range []string{
		"CREATE TABLE shop.customers (id INT PRIMARY KEY)",
		"CREATE TABLE shop.visits (id INT PRIMARY KEY, customer INT, CONSTRAINT visits_customer FOREIGN KEY (customer) REFERENCES shop.customers (id)," +
			" CONSTRAINT visits_second FOREIGN KEY (customer) REFERENCES shop.customers (id))",
	} {
		if _, err := s.pool.DB().ExecContext(s.ctx, statement); err != nil {
			return err
		}
	}
	if err := s.write(".my.cnf", ""); err != nil { // a statement of the dictionary needs no row copy
		return err
	}
	if _, err := s.run(zeroDowntime("visits", "drop foreign key `visits_second`")(s)[0]); err != nil { // dropForeign() alone
		return err
	}
	query := "add `seen` int null, drop foreign key `visits_customer`"
	dry := zeroDowntime("visits", query)(s)[0]
	dry.line[1] = "--dry-run"
	out, err := s.run(dry)
	if s.server.Build.Version == sandbox.MySQL80 { // 8.0.12: docs/servers.md
		if err == nil {
			return errors.New("8.0.12: foreign keys are not refused")
		}
		return nil
	}
	if err != nil {
		return err
	}
	key := dropsKey.FindStringSubmatch(query)[1]
	for _, found := range namesOfIt.FindAllStringSubmatch(out, -1) {
		if strings.TrimLeft(found[1], "_") == strings.TrimLeft(key, "_") {
			query = strings.ReplaceAll(query, "`"+key+"`", "`"+found[1]+"`")
		}
	}
	if _, err := s.run(zeroDowntime("visits", query)(s)[0]); err != nil {
		return err
	}
	return s.believes("SELECT COUNT(*) = 0 FROM information_schema.key_column_usage WHERE table_schema = 'shop' AND referenced_table_name IS NOT NULL")
}

// shell is one line of the shell.
func shell(format string, args ...any) []command {
	return []command{{shell: fmt.Sprintf(format, args...)}}
}
