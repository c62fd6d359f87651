package process

import (
	"fmt"

	"midstream/internal/cli/flags"
	"midstream/internal/face/web"
)

// UsualListen is where a service is, unless somebody says something else.
const UsualListen = "127.0.0.1:8385"

// TokenFileUse is the help of --token-file.
const TokenFileUse = "file of the access token ($XDG_STATE_HOME/midstream/token, or ~/.local/state/midstream/token)"

// TokenFlag says in which file the token is that lets somebody ask a service.
type TokenFlag struct{ path string }

// Register adds --token-file.
func (t *TokenFlag) Register(f *flags.Set) {
	f.Flags.StringVar(&t.path, "token-file", "", TokenFileUse)
}

// Read reads the token. Errors name its file.
func (t *TokenFlag) Read(p *Process) (string, error) {
	path, err := p.StateFolder(t.path, "token")
	if err != nil {
		return "", err
	}
	if token, err := web.TokenIn(path); err != nil || token != "" {
		return token, err
	}
	return "", fmt.Errorf("%s has no token", path)
}
