package callers

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The versions of the callers. A new version is a new folder of the cache.
const (
	skeemaVersion  = "v1.13.0"
	migrateVersion = "v4.20.1"
	gooseVersion   = "v3.26.0"
	driverVersion  = "v1.9.3" // of go-sql-driver/mysql, for goose
)

// packages are those of Django and Alembic.
var packages = []string{"django==5.2.19", "alembic==1.20.1", "pymysql==1.2.4", "cryptography==50.0.2"}

//go:embed all:testdata
var testdata embed.FS

// tools installs callers into dir.
type tools struct{ dir string }

func (t *tools) skeema() string  { return filepath.Join(t.dir, "skeema-"+skeemaVersion) }
func (t *tools) migrate() string { return filepath.Join(t.dir, "migrate-"+migrateVersion) }
func (t *tools) python() string  { return filepath.Join(t.venv(), "bin", "python") }
func (t *tools) venv() string {
	return filepath.Join(t.dir, strings.ReplaceAll(strings.Join(packages, "-"), "==", "-"))
}

// goBuild builds a program of a module, with what the module requires. files are more of the program's files.
func (t *tools) goBuild(ctx context.Context, out, requires, what string, files map[string]string, flags ...string) error {
	if exists(out) {
		return nil
	}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(t.dir, "build")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	mod := "module caller\n\ngo 1.25\n\nrequire (\n" + requires + ")\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"build", "-mod=mod", "-o", out}, flags...), what)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0")
	return run(cmd)
}

// run runs a command of an installation.
func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

func installSkeema(ctx context.Context, t *tools) error {
	return t.goBuild(ctx, t.skeema(), "github.com/skeema/skeema "+skeemaVersion+"\n", "github.com/skeema/skeema", nil)
}

func installMigrate(ctx context.Context, t *tools) error {
	const module = "github.com/golang-migrate/migrate/v4"
	return t.goBuild(ctx, t.migrate(), module+" "+migrateVersion+"\n", module+"/cmd/migrate", nil, "-tags=mysql")
}

// goose is a program of its own: migrations that are written in Go need one.
func (t *tools) goose() string {
	return filepath.Join(t.dir, "goose-"+gooseVersion)
}

func installGoose(ctx context.Context, t *tools) error {
	main, err := testdata.ReadFile("testdata/goose/main.go")
	if err != nil {
		return err
	}
	os.Remove(t.goose()) // its source is here
	requires := "github.com/pressly/goose/v3 " + gooseVersion + "\ngithub.com/go-sql-driver/mysql " + driverVersion + "\n"
	return t.goBuild(ctx, t.goose(), requires, ".", map[string]string{"main.go": string(main)})
}

func installPython(ctx context.Context, t *tools) error {
	done := filepath.Join(t.venv(), "installed")
	if exists(done) {
		return nil
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		return errors.New("python3 is missing: Django and Alembic need python3 with its module venv (Debian: python3-venv)")
	}
	if err := run(exec.CommandContext(ctx, python, "-m", "venv", t.venv())); err != nil {
		return fmt.Errorf("python3 needs its module venv (Debian: python3-venv): %w", err)
	}
	if err := run(exec.CommandContext(ctx, t.python(), append([]string{"-m", "pip", "install", "--quiet"}, packages...)...)); err != nil {
		return err
	}
	return os.WriteFile(done, nil, 0o600)
}

func installMaven(ctx context.Context, _ *tools) error {
	for _, name := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(name); err != nil {
			return errors.New(name + " is missing: Liquibase needs java and mvn (Debian: default-jre-headless, maven)")
		}
	}
	return nil
}

func installTerraform(_ context.Context, _ *tools) error {
	if _, err := exec.LookPath("terraform"); err != nil {
		return errors.New("terraform is missing: no registry that the tests reach has it")
	}
	return nil
}

// unpack writes a folder of testdata below the home.
func (s *stage) unpack(folder string) error {
	from, err := fs.Sub(testdata, "testdata/"+folder)
	if err != nil {
		return err
	}
	return fs.WalkDir(from, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(from, path)
		if err != nil {
			return err
		}
		return s.write(path, string(text))
	})
}
