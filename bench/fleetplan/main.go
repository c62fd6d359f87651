// Command fleetplan measures midstream fleet plan: real plans of a few real servers behind many option files. It prints the seconds,
// the peak memory of midstream, and its processor time.
//
//	go build -o /tmp/midstream ./cmd/midstream && go run ./bench/fleetplan -midstream /tmp/midstream -members 2000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"midstream/internal/lab/sandbox"
	"midstream/internal/mysql/dbconn"
)

func main() {
	if err := measure(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "fleetplan:", err)
		os.Exit(1)
	}
}

// databases is how many tables the members of a server share.
const databases = 20

func measure(ctx context.Context) (err error) {
	program := flag.String("midstream", "bin/midstream", "program to measure")
	members := flag.Int("members", 2000, "number of option files")
	versions := flag.String("servers", "9.7,mariadb-11.8", "versions of the servers behind them")
	parallel := flag.String("parallel", "32", "--parallel of fleet plan")
	flag.Parse()
	folder, err := os.MkdirTemp("", "fleetplan")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	var servers []*sandbox.Server
	defer func() {
		for _, s := range servers {
			err = errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
		}
	}()
	for version := range strings.SplitSeq(*versions, ",") {
		build, err := sandbox.Fetch(ctx, sandbox.Version(version), func(text string) { fmt.Println(text) })
		if err != nil {
			return err
		}
		s, err := build.Start(ctx, sandbox.Options{})
		if err != nil {
			return err
		}
		servers = append(servers, s)
		if err := fill(ctx, s); err != nil {
			return err
		}
	}
	for n := range *members {
		s := servers[n%len(servers)]
		text := fmt.Sprintf("[client]\nhost=127.0.0.1\nport=%d\nuser=root\n[midstream]\ndatabase=s%03d\nlabels=app=shop,shard=%04d\n", s.Port, n%databases, n)
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%04d.cnf", n)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, *program, "fleet", "plan", "app=shop", "ALTER TABLE orders ADD COLUMN note VARCHAR(40)",
		"--inventory", folder, "--parallel", *parallel)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return err
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	load, _ := os.ReadFile("/proc/loadavg") // other systems have none
	fmt.Printf("%d members, %d servers: %.1f s, peak memory %d MB, processor time %.1f s, load of the machine %s", *members, len(servers),
		time.Since(began).Seconds(), usage.Maxrss>>10, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), load)
	return nil
}

// fill makes the tables.
func fill(ctx context.Context, s *sandbox.Server) error {
	pool, err := dbconn.Open(ctx, dbconn.Config{Network: "tcp", Address: fmt.Sprintf("127.0.0.1:%d", s.Port), User: "root"}, nil)
	if err != nil {
		return err
	}
	defer pool.Close()
	for n := range databases {
		for _, statement := range []string{
			fmt.Sprintf("CREATE DATABASE s%03d", n),
			fmt.Sprintf("CREATE TABLE s%03d.orders (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL DEFAULT '', n INT DEFAULT 0, KEY (n))"+
				" ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci", n),
		} {
			if _, err := pool.DB().ExecContext(ctx, statement); err != nil {
				return err
			}
		}
	}
	return nil
}
