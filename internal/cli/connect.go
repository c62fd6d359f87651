package cli

import (
	"context"
	"errors"
	"slices"

	"midstream/internal/cli/exit"
	"midstream/internal/cli/flags"
	"midstream/internal/face/tui"
	"midstream/internal/mysql/dbconn"
	"midstream/internal/ops/reach"
	"midstream/internal/ops/session"
)

// connection are the flags that say how to reach the server.
type connection struct {
	app    *app
	checks *flags.Set // all flags of the verb
	flags  dbconn.Options
	files  dbconn.OptionFiles
	ask    bool           // for the password
	said   dbconn.Options // what config has put together
	// variables are of all sessions, where the account may set them: the plan refuses where it may not.
	variables map[string]string
	// captureFrom is the replica from which changes shall be read, as host:port; "" for none.
	captureFrom string
	known       *dbconn.Config // nil until config has put it together
}

// register adds the flags. --password is registered for the help only: password.Take
// has taken it out before.
func (c *connection) register(f *flags.Set) {
	c.checks = f
	f.Flags.StringVarP(&c.flags.Host, "host", "h", "", "host of the server; without a host, or with localhost, its socket if there is one")
	f.Integer(&c.flags.Port, "P", "port", 0, 1, 65535, "TCP port (3306)")
	f.Flags.StringVarP(&c.flags.Socket, "socket", "S", "", "socket file, for localhost")
	f.Flags.StringVarP(&c.flags.User, "user", "u", "", "account (your login name)")
	f.Flags.BoolP("password", "p", false,
		"ask for the password; or attach it: -pSECRET, --password=SECRET (better: an option file, or MYSQL_PWD)")
	f.Flags.StringVar(&c.flags.PasswordCommand, "password-command", "",
		"command that prints the password, before each new connection: for tokens that are valid for a short time (RDS IAM, Vault)")
	f.Flags.StringVar(&c.files.Only, "defaults-file", "", "read this option file and no other")
	f.Flags.StringVar(&c.files.Extra, "defaults-extra-file", "", "read this option file too, before ~/.my.cnf")
	f.Flags.String(reach.At, "", "for midstream serve: the commands that are printed reach the server at this address")
	_ = f.Flags.MarkHidden(reach.At) // it has just been added
	const modes = "DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY (PREFERRED)"
	f.Add("", "ssl-mode", "mode", "", modes, func(text string) (err error) {
		c.flags.SSLMode, err = dbconn.ParseSSLMode(text)
		return err
	})
	f.Flags.StringVar(&c.flags.SSLCA, "ssl-ca", "", "file of the certificates that sign the server's")
	f.Flags.StringVar(&c.flags.SSLCert, "ssl-cert", "", "file of this client's certificate")
	f.Flags.StringVar(&c.flags.SSLKey, "ssl-key", "", "file of this client's key")
}

// config puts flags, option files and environment together: the first that says a
// thing counts. It sets the verb's other flags too, as far as option files say them. The
// password may still have to be asked for.
func (c *connection) config() (cfg dbconn.Config, notes []string, err error) {
	if c.known != nil {
		return *c.known, nil, nil
	}
	c.files.Home = c.app.Home
	options := c.flags
	options.Password, options.AskPassword = c.app.password.Password, c.app.password.Ask
	if options.Password != nil {
		notes = append(notes, "other users can see a password on the command line for a moment, and the shell's history keeps it; "+
			"use -p alone, an option file or MYSQL_PWD")
	}
	filed, fileErr := c.files.Read()
	passed, settingErr := c.checks.FromFiles(filed.Settings, c.app.flagNames)
	env, envErr := dbconn.OptionsFromEnv(c.app.Getenv)
	if typed := reach.Of(c.checks.Flags, options.HasPassword()).With(env, options.Over(filed.Options)); c.app.Speech == nil {
		c.app.Reaches(typed)
	}
	options = options.Over(filed.Options).Over(env)
	c.said, c.ask = options, options.AskPassword
	var choices []string
	if fileErr == nil { // else what it has is missing
		cfg, choices, err = options.Config()
	}
	if err = errors.Join(fileErr, settingErr, envErr, err); err == nil {
		c.known = &cfg
	}
	return cfg, slices.Concat(notes, filed.Notes, passed, choices), err
}

// server is a server that was reached.
type server = session.Server

// open connects.
func (c *connection) open(ctx context.Context, cfg dbconn.Config) (*server, error) {
	if c.ask {
		secret, err := tui.AskPassword(ctx, c.app.Stdin, c.app.Stderr)
		if errors.Is(err, tui.ErrNoTerminal) {
			return nil, exit.UsageOf("midstream help run", err)
		}
		if err != nil {
			return nil, err
		}
		if cfg.Password, c.ask = secret, false; c.known != nil {
			c.known.Password = secret
		}
	}
	c.app.Stands("connecting", cfg.Address)
	s, err := session.Open(ctx, cfg, c.variables, c.captureFrom)
	if err != nil {
		return nil, exit.Unreachable(ctx, err)
	}
	return s, nil
}

// reach checks a verb's command line, and connects. Option files come first: problems may need what they say, and reads the rest.
func (c *connection) reach(ctx context.Context, out *output, help string, problems func() []error) (*server, error) {
	cfg, notes, err := c.config()
	if err := exit.UsageOf(help, append(problems(), err)...); err != nil {
		return nil, err
	}
	for _, note := range notes {
		out.note(note)
	}
	return c.open(ctx, cfg)
}
