package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Digest identifies a token.
type Digest [sha256.Size]byte

// DigestOf is the digest of a token.
func DigestOf(token string) Digest { return sha256.Sum256([]byte(token)) }

// entry is a line of the file.
type entry struct {
	person Person
	digest Digest
}

// Book has the persons of a file. It is safe for concurrent use.
type Book struct {
	path string
	// note gets each new reason why the file or a line of it is not used.
	note func(text string)

	mu      sync.Mutex
	entries []entry
	seen    stamp
	noted   string
}

// stamp tells versions of the file apart.
type stamp struct {
	size int64
	at   time.Time
	file fs.FileInfo
}

// Open reads a file of tokens. It fails if the file cannot be read, or a line of it is wrong; later, such a line lets no one in.
func Open(path string, note func(text string)) (*Book, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if _, err := parse(string(text)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Book{path: path, note: note}, nil
}

// Path is where the file is.
func (b *Book) Path() string { return b.path }

// Find returns the person of a token. Each digest is compared, in constant time, so the answer's time reveals no token.
func (b *Book) Find(digest Digest) (found Person, there bool) {
	for _, e := range b.current() {
		if subtle.ConstantTimeCompare(e.digest[:], digest[:]) == 1 {
			found, there = e.person, true
		}
	}
	return found, there
}

// Has reports whether a token of the file has a role.
func (b *Book) Has(role Role) bool {
	return slices.ContainsFunc(b.current(), func(e entry) bool { return e.person.May(role) })
}

// current are the lines of the file as it is now. A file that cannot be read has none: who removes it locks everyone out.
func (b *Book) current() []entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	info, err := os.Stat(b.path)
	if err == nil {
		now := stamp{info.Size(), info.ModTime(), info}
		// A file that was written a moment ago may be written again within the same tick of its clock.
		same := b.seen.file != nil && os.SameFile(now.file, b.seen.file) && now.size == b.seen.size && now.at.Equal(b.seen.at)
		if same && time.Since(now.at) > 2*time.Second {
			return b.entries
		}
		var text []byte
		if text, err = os.ReadFile(b.path); err == nil {
			b.seen = now
			b.entries, err = parse(string(text))
		} else {
			b.entries = nil
		}
	} else {
		b.entries = nil
	}
	told := ""
	if err != nil {
		told = fmt.Sprintf("the file of tokens %s: %v. What cannot be read lets no one in", b.path, err)
	}
	if told != b.noted && told != "" && b.note != nil {
		b.note(told)
	}
	b.noted = told
	return b.entries
}

// nameForm is what the name of a token may be.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

const digestKind = "sha256:"

// parse reads the lines of a file: a name, roles with commas between them, and the digest. It returns the good lines, and an error of the
// others.
func parse(text string) (entries []entry, err error) {
	names, n := map[string]bool{}, 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		e, wrong := parseLine(line)
		if wrong == nil && names[strings.ToLower(e.person.Name)] {
			wrong = fmt.Errorf("the name %s is used twice", e.person.Name)
		}
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("line %d: %w", n, wrong))
			continue
		}
		names[strings.ToLower(e.person.Name)] = true
		entries = append(entries, e)
	}
	return entries, err
}

func parseLine(line string) (e entry, err error) {
	words := strings.Fields(line)
	if len(words) != 3 {
		return e, errors.New("must be NAME ROLE[,ROLE] sha256:DIGEST, as midstream token prints it")
	}
	if !nameForm.MatchString(words[0]) {
		return e, ErrName
	}
	e.person = Person{Name: words[0], Named: true}
	if e.person.Roles, err = ParseRoles(words[1]); err != nil {
		return e, err
	}
	digest, is := strings.CutPrefix(words[2], digestKind)
	bytes, err := hex.DecodeString(digest)
	if !is || err != nil || len(bytes) != sha256.Size {
		return e, errors.New("the third word must be sha256: and 64 hexadecimal digits, as midstream token prints it")
	}
	e.digest = Digest(bytes)
	return e, nil
}

// Make returns a new token, and the line for its file.
func Make(name string, roles []Role) (token, line string, err error) {
	if !nameForm.MatchString(name) {
		return "", "", ErrName
	}
	var words []string
	for _, role := range roles {
		words = append(words, string(role))
	}
	token = rand.Text() + rand.Text()
	digest := DigestOf(token)
	return token, fmt.Sprintf("%s %s %s%s", name, strings.Join(words, ","), digestKind, hex.EncodeToString(digest[:])), nil
}

// Add adds a line to a file, which it creates. It fails if the file has the name already, or a line that is wrong.
func Add(path, line string) error {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	more := line + "\n"
	if len(text) > 0 && text[len(text)-1] != '\n' {
		more = "\n" + more
	}
	if _, err := parse(string(text) + more); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(more)
	return errors.Join(err, file.Close())
}
