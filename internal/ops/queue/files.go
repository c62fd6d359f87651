package queue

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"midstream/internal/engine/desired"
	"midstream/internal/mysql/schema"
	"midstream/internal/ops/record"
)

// File is a file of CREATE TABLE statements.
type File struct {
	Name string `json:"name" maxLength:"200" doc:"name of the file, without a folder; it ends in .sql" example:"orders.sql"`
	Text string `json:"text" doc:"its text, with CREATE TABLE statements"`
}

const (
	// mostFileBytes bounds the files of a change together: the store writes them with each state of the change.
	mostFileBytes = 1 << 20
	mostFiles     = 1000
	// mostBody is the longest body of a request that may have files: JSON spells some bytes with six.
	mostBody = 6*mostFileBytes + 1<<20
)

// filesFolder is the folder in that of a change with its files. They are written again for each attempt.
const filesFolder = "files"

// fileForm is what the name of a file looks like: it becomes one on the machine of the service.
var fileForm = regexp.MustCompile(`^[^./\\\x00-\x1f\x7f][^/\\\x00-\x1f\x7f]*\.(?i:sql)$`)

// ReadFiles reads a file, or the files in a folder whose names end in .sql.
func ReadFiles(path string) (files []File, err error) {
	names, err := desired.FilesOf(path)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.Size() > mostFileBytes {
			return nil, tooLong(info.Size())
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		base := filepath.Base(name)
		if !strings.EqualFold(filepath.Ext(base), ".sql") {
			base += ".sql"
		}
		if !utf8.Valid(text) {
			return nil, fmt.Errorf("%s: the file is not UTF-8", name)
		}
		files = append(files, File{base, string(text)})
	}
	return files, CheckFiles(files)
}

func tooLong(bytes int64) error {
	return fmt.Errorf("the files have %d bytes or more; a change may have at most %d (1 MiB): submit fewer tables at once", bytes, mostFileBytes)
}

// CheckFiles returns what is wrong with the files of a submission, but for their statements.
func CheckFiles(files []File) error {
	var problems []error
	var bytes int64
	var names []string
	for _, f := range files {
		bytes += int64(len(f.Text))
		if lower := strings.ToLower(f.Name); slices.Contains(names, lower) {
			problems = append(problems, fmt.Errorf("two files have the name %q", f.Name))
		} else {
			names = append(names, lower)
		}
		if len(f.Name) > 200 || !fileForm.MatchString(f.Name) {
			problems = append(problems, fmt.Errorf("%q is not the name of a file: it must end in .sql, and name no folder", f.Name))
		}
	}
	if bytes > mostFileBytes {
		problems = append(problems, tooLong(bytes))
	}
	if len(files) > mostFiles {
		problems = append(problems, fmt.Errorf("there are %d files; a change may have at most %d", len(files), mostFiles))
	}
	return errors.Join(problems...)
}

// layFiles writes the files of a change into a folder, which has nothing else afterwards.
func layFiles(files []File, folder string) error {
	err := os.RemoveAll(folder)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	for _, f := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, f.Name), []byte(f.Text), 0o600)
		}
	}
	return err
}

// laid calls do with a folder that has the files, for as long as do takes; with "" if there are none.
func (s *Service) laid(files []File, do func(folder string) error) error {
	if len(files) == 0 {
		return do("")
	}
	folder, err := os.MkdirTemp(s.cfg.Folder, "files-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := layFiles(files, folder); err != nil {
		return err
	}
	return do(folder)
}

// unfoldered takes the folder of files for a moment out of a text: it is gone when somebody reads that.
func unfoldered(text []byte, folder string) []byte {
	if folder == "" {
		return text
	}
	return bytes.ReplaceAll(text, []byte(folder+string(filepath.Separator)), nil)
}

// asFiled is a submission with files: they stand for the statement.
func asFiled(asked Submission) Submission {
	if len(asked.Files) > 0 && asked.Statement == "" && len(asked.Statements) == 0 && !asked.Together {
		asked.Statement = filed + strings.Join(fileNames(asked.Files), ", ")
		asked.Files = slices.Clone(asked.Files)
		slices.SortFunc(asked.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	}
	return asked
}

// filed begins what is shown as the statement of a change with files.
const filed = "CREATE TABLE statements of "

func fileNames(files []File) []string {
	names := []string{}
	for _, f := range files {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

// readFiles reads the files of a submission as a run would, and returns their tables.
func (s *Service) readFiles(asked Submission, e *entry) (tables []schema.Name, err error) {
	next := "correct the files, and submit them again"
	if asked.Statement != filed+strings.Join(fileNames(asked.Files), ", ") {
		return nil, bad(notQueued, "there are files and a statement, or together is true", "submit either files or statements")
	}
	if err := CheckFiles(asked.Files); err != nil {
		return nil, bad(notQueued, err.Error(), next)
	}
	err = s.laid(asked.Files, func(folder string) error {
		tables, err = s.cfg.Read("run", append(s.reads(asked.Server, e), "--to="+folder), "")
		if err != nil {
			return bad(notQueued, strings.ReplaceAll(err.Error(), folder+string(filepath.Separator), ""), next)
		}
		return nil
	})
	return tables, err
}

// reached counts the tables of files by what has become of them.
func reached(tables []record.Table) (text string) {
	counts := map[string]int{}
	for _, t := range tables {
		counts[t.State]++
	}
	for _, state := range slices.Sorted(maps.Keys(counts)) {
		text += fmt.Sprintf("; %s %s", plural(int64(counts[state]), "table"), state)
	}
	return text
}
