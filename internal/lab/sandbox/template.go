package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// accounts is run by the first start of a data folder, which then ends. It makes the one
// administrator reachable over TCP, where skip_name_resolve knows no "localhost".
const accounts = `RENAME USER 'root'@'localhost' TO 'root'@'%';
SHUTDOWN;
`

// makeTemplate makes dir a data folder to copy servers from: initialised, started once (so that its
// certificates exist), cleanly shut down, and without the identity of a server. It appears complete
// or not at all.
func makeTemplate(ctx context.Context, b *Build, dir string) error {
	staging := dir + ".new"
	if err := os.RemoveAll(staging); err != nil {
		return fmt.Errorf("remove what an interrupted initialisation left: %w", err)
	}
	if err := initialise(ctx, b, staging, nil); err != nil {
		return err
	}
	if err := os.Rename(staging, dir); err != nil {
		return fmt.Errorf("put the template in its place: %w", err)
	}
	return nil
}

// initialise makes dir, which must not exist, the data folder of a server that has never run. extra
// are further arguments, for settings that count from the first moment on.
func initialise(ctx context.Context, b *Build, dir string, extra []string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	args := append(b.serverArgs(), "--datadir="+dir, "--skip-log-bin", "--loose-mysqlx=0",
		"--loose-innodb-redo-log-capacity=8M") // a server grows it when it starts, a template is better small
	args = append(args, extra...)
	first, input := "--initialize-insecure", ""
	if b.IsMariaDB() {
		script, err := mariaDBTables(b.share)
		if err != nil {
			return err
		}
		first, input = "--bootstrap", script
		args = append(args, "--secure-file-priv="+dir) // NULL is a folder's name to it
	} else {
		args = append(args, "--secure-file-priv=NULL")
	}
	create := b.command(ctx, b.server, append(args, first)...)
	if err := runToEnd(ctx, create, input); err != nil {
		return fmt.Errorf("initialise a data folder: %w", err)
	}
	script := dir + ".sql"
	if err := os.WriteFile(script, []byte(accounts), 0o644); err != nil {
		return fmt.Errorf("set up the accounts: %w", err)
	}
	defer os.Remove(script)
	args = append(args, "--init-file="+script, "--skip-networking", "--socket=mysqld.sock", "--pid-file=mysqld.pid")
	if err := runToEnd(ctx, b.command(ctx, b.server, args...), ""); err != nil {
		return fmt.Errorf("set up the accounts: %w", err)
	}
	// auto.cnf holds the server's UUID: two servers that share one can't replicate from each other.
	if err := os.Remove(filepath.Join(dir, "auto.cnf")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("take the identity out of the data folder: %w", err)
	}
	return nil
}

// mariaDBTables is what MariaDB's mysql_install_db would feed to a bootstrapping server.
func mariaDBTables(share string) (string, error) {
	var script strings.Builder
	script.WriteString("CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n")
	for _, part := range []string{"system_tables", "performance_tables", "system_tables_data", "sys_schema"} {
		text, err := os.ReadFile(filepath.Join(share, "mysql_"+part+".sql"))
		if errors.Is(err, os.ErrNotExist) {
			text, err = os.ReadFile(filepath.Join(share, "mariadb_"+part+".sql")) // from 11.0 on
		}
		if err != nil {
			return "", fmt.Errorf("read MariaDB's system tables: %w", err)
		}
		script.Write(text)
		script.WriteString("\n")
	}
	// One administrator will do; the others have the machine's name in theirs.
	script.WriteString("DELETE FROM global_priv WHERE Host <> 'localhost';\nDELETE FROM proxies_priv WHERE Host <> 'localhost';\n")
	return script.String(), nil
}
