package ptosc

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// defaultFiles are the files of options that are read where --config says no others. One that is
// not there says nothing.
func defaultFiles(home string) []string {
	files := []string{"/etc/percona-toolkit/percona-toolkit.conf", "/etc/percona-toolkit/pt-online-schema-change.conf"}
	if home == "" {
		return files
	}
	return append(files, filepath.Join(home, ".percona-toolkit.conf"), filepath.Join(home, ".pt-online-schema-change.conf"))
}

// withFiles puts the options of the files in front of the arguments. --config is taken as the first argument only.
func withFiles(args []string, home string) (all []string, err error) {
	files, named := defaultFiles(home), false
	if len(args) > 1 && args[0] == "--config" {
		files, named, args = strings.Split(args[1], ","), true, args[2:]
	}
	for _, path := range files {
		some, err := readFile(path)
		if err != nil && named {
			return nil, err
		}
		all = append(all, some...)
	}
	return append(all, args...), nil
}

var (
	comment = regexp.MustCompile(`\s+#.*$`)
	setting = regexp.MustCompile(`^([^=\s]+?)(?:\s*=\s*(.*?)\s*)?$`)
)

// readFile reads a file of options: a name, or name=value, a line, without dashes; behind a line --
// the lines are arguments.
func readFile(path string) (args []string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("Cannot open %s: %w", path, err)
	}
	defer file.Close()
	options := true
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		text := lines.Text()
		if trimmed := strings.TrimSpace(text); trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';' {
			continue
		}
		text = strings.TrimSpace(comment.ReplaceAllString(text, ""))
		parts := setting.FindStringSubmatch(text)
		switch {
		case text == "--":
			options = false
		case options && parts != nil:
			args = append(args, "--"+parts[1])
			if strings.Contains(text, "=") {
				args = append(args, parts[2])
			}
		default:
			args = append(args, text)
		}
	}
	return args, lines.Err()
}
