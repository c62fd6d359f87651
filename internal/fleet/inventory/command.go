package inventory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Command is a command that prints the inventory as JSON (docs/fleet.md). The shell runs it; without a shell (a container may have
// none), it is a program with arguments between blanks.
type Command string

func (c Command) String() string { return "inventory command" }

// The bounds of a command.
const (
	commandTime = 30 * time.Second
	mostOutput  = 16 << 20
)

// listed is a server as a command prints it.
type listed struct {
	Name   string            `json:"name"`
	File   string            `json:"file"`
	Host   string            `json:"host"`
	Port   int               `json:"port"`
	Socket string            `json:"socket"`
	User   string            `json:"user"`
	Labels map[string]string `json:"labels"`
}

// read runs the command, and reads what it prints unless that is known.
func (c Command) read(ctx context.Context, known string) (Inventory, error) {
	text, err := c.output(ctx)
	if err != nil {
		return Inventory{}, err
	}
	inventory := Inventory{hash: fmt.Sprintf("%x", sha256.Sum256(text))}
	var list struct {
		Servers []json.RawMessage `json:"servers"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return Inventory{}, fmt.Errorf("its output is not the JSON of an inventory: %w", err)
	}
	if len(list.Servers) == 0 {
		return Inventory{}, errors.New(`its output has no "servers"`)
	}
	used := map[string]bool{}
	for n, raw := range list.Servers {
		server, err := readListed(raw)
		if err == nil && used[server.Name] {
			err = errors.New("two servers have this name")
		}
		used[server.Name] = true
		if server.Name == "" {
			server.Name = fmt.Sprintf("number %d", n+1)
		}
		if err != nil {
			inventory.Problems = append(inventory.Problems, Problem{server.Name, err})
		} else {
			inventory.Servers = append(inventory.Servers, server)
		}
	}
	inventory.sort()
	// The option files are not hashed: they have no labels that count, and a plan or a run reads them.
	if inventory.hash == known && len(inventory.Problems) == 0 {
		return inventory, errSame
	}
	return inventory, nil
}

// output is what the command prints.
func (c Command) output(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	words := []string{"sh", "-c", string(c)}
	if _, err := exec.LookPath(words[0]); err != nil {
		words = strings.Fields(string(c))
	}
	if len(words) == 0 {
		return nil, errors.New("it is empty")
	}
	out, complaint := &short{most: mostOutput}, &short{most: 1 << 10}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, complaint, time.Second
	err := cmd.Run()
	switch first, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n"); {
	case ctx.Err() != nil && err != nil:
		return nil, fmt.Errorf("it has not ended within %s", commandTime)
	case err != nil && first != "":
		return nil, fmt.Errorf("%w: %s", err, first)
	case err != nil:
		return nil, err
	case out.more:
		return nil, fmt.Errorf("it printed more than %d MB", mostOutput>>20)
	}
	return out.Bytes(), nil
}

// short keeps the beginning of an output.
type short struct {
	bytes.Buffer
	most int
	more bool
}

func (s *short) Write(text []byte) (int, error) {
	if room := s.most - s.Len(); len(text) > room {
		s.more = true
		s.Buffer.Write(text[:room])
	} else {
		s.Buffer.Write(text)
	}
	return len(text), nil
}

// readListed reads one server of the output. The server has a name as far as it can be read.
func readListed(raw json.RawMessage) (Server, error) {
	var l listed
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&l)
	s := Server(l)
	if err != nil {
		return s, err
	}
	problems := []error{CheckName(s.Name), checkLabels(s.Labels)}
	switch {
	case s.File == "":
		problems = append(problems, errors.New("it has no file: name the option file that has the account"))
	case !filepath.IsAbs(s.File):
		problems = append(problems, fmt.Errorf("file %q: must be an absolute path", s.File))
	default:
		_, err := ReadFile("file", s.File)
		problems = append(problems, err)
	}
	if s.Port < 0 || s.Port > 65535 {
		problems = append(problems, fmt.Errorf("port %d: must be between 1 and 65535", s.Port))
	}
	return s, errors.Join(problems...)
}
