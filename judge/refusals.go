package main

import (
	"context"
	"regexp"
)

// promise is a refusal that the documentation promises.
type promise struct {
	says   *regexp.Regexp // in the reason that midstream prints
	server *regexp.Regexp // the versions, as SELECT @@version returns them
	page   string         // where the documentation has it
}

// promises are the refusals that are right, although the server could do the ALTER itself.
var promises = []promise{
	{
		says:   regexp.MustCompile(`foreign key \S+ refers to [^;]*on MySQL 8\.0\.12`),
		server: regexp.MustCompile(`^8\.0\.12`),
		page:   "docs/servers.md, foreign keys on MySQL 8.0.12",
	},
}

// documented returns the page that has the reason of a refusal, or "". said is midstream's output.
func documented(said, version string) string {
	said = regexp.MustCompile(`\s+`).ReplaceAllString(said, " ")
	for _, l := range promises {
		if l.server.MatchString(version) && l.says.MatchString(said) {
			return l.page
		}
	}
	return ""
}

// explain returns the verdict of a refusal. The refusal is right if the server itself refuses the same ALTER,
// or if the documentation has it.
func (s *vitessSuite) explain(ctx context.Context, name, said string) (verdict, error) {
	if page := documented(said, s.version); page != "" {
		return verdict{rightly, page, said}, nil
	}
	settings := "SET sql_mode = '" + s.word(name, "sql_mode", s.sqlMode) + "'; "
	_, err := s.server.run(ctx, vitessDatabase, settings+"ALTER TABLE "+vitessTable+" "+s.word(name, "alter", "engine=innodb"))
	switch {
	case ctx.Err() != nil:
		return verdict{}, context.Cause(ctx)
	case err != nil:
		return verdict{rightly, "the server itself refuses it: " + lastLine(err.Error()), said}, nil
	}
	return verdict{refused, reason(said), said}, nil
}
