package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
)

// Role is something that a person may do.
type Role string

// The roles. See comes with each of the others.
const (
	See     Role = "see"     // read all that the pages and the API show
	Plan    Role = "plan"    // plan changes; it comes with Submit
	Submit  Role = "submit"  // plan and submit changes, run them again, undo them, withdraw the own ones
	Approve Role = "approve" // approve or reject changes of others
	Operate Role = "operate" // control runs, release swaps, freeze, withdraw changes of others
)

// Roles lists all roles.
func Roles() []Role { return []Role{See, Plan, Submit, Approve, Operate} }

// Person is who sends a request.
type Person struct {
	Name  string `json:"name" doc:"name of the token, or the name that was typed at the login; may be empty"`
	Roles []Role `json:"roles" enum:"see,plan,submit,approve,operate" doc:"what the person may do"`
	// Named means that the name belongs to the token.
	Named bool `json:"named" doc:"true: the token has this name; false: the person has stated it"`
}

// Everyone is who has the single token, by the name that they state.
func Everyone(name string) Person { return Person{Name: Stated(name), Roles: Roles()} }

// May reports whether the person has a role.
func (p Person) May(role Role) bool {
	return slices.Contains(p.Roles, role) || role == See && len(p.Roles) > 0 || role == Plan && slices.Contains(p.Roles, Submit)
}

// Is reports whether a name is this person's. Letter case does not count.
func (p Person) Is(name string) bool { return p.Name != "" && strings.EqualFold(p.Name, name) }

// By is who sends a request, for people. stated is what the request itself has as the name. The name of a token comes first.
func (p Person) By(stated string) string {
	stated = Stated(stated)
	switch {
	case p.Name == "":
		return stated
	case stated == "" || stated == p.Name:
		return p.Name
	case !p.Named: // both were typed
		return p.Name
	}
	return p.Name + " (" + stated + ")"
}

// longestName bounds a name that a person states.
const longestName = 200

// Stated is a name as it was typed, on one line and without what cannot be seen.
func Stated(name string) string {
	name = strings.Join(strings.FieldsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if len(name) > longestName {
		name = strings.ToValidUTF8(name[:longestName], "")
	}
	return name
}

// Header has the name of who sends a request, for the single token. A token with a name ignores it.
const Header = "Midstream-By"

type person struct{}

// With keeps who sends a request.
func With(ctx context.Context, p Person) context.Context { return context.WithValue(ctx, person{}, p) }

// Of is who sends a request. Without With, it is a person without a role.
func Of(ctx context.Context) Person {
	p, _ := ctx.Value(person{}).(Person)
	return p
}

type by struct{}

// WithBy keeps in whose name a run is asked.
func WithBy(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, by{}, name)
}

// ByOf is in whose name a run is asked; "" if it was not kept.
func ByOf(ctx context.Context) string {
	name, _ := ctx.Value(by{}).(string)
	return name
}

// Lacking is the answer to a person without a role.
type Lacking struct {
	Person Person
	Role   Role
}

func (l *Lacking) Error() string {
	who := l.Person.Name
	if who == "" {
		who = "this token"
	}
	return fmt.Sprintf("%s lacks the role %s", who, l.Role)
}

// Next is what to do.
func (l *Lacking) Next() string {
	return fmt.Sprintf("use a token with the role %s, or ask who runs the service for it", l.Role)
}

// Status is the status of HTTP.
func (l *Lacking) Status() int { return http.StatusForbidden }

// ErrName says that a name cannot be that of a token.
var ErrName = errors.New("a name must have at most 64 letters, digits and . _ @ -")

// ParseRoles reads roles with commas between them; all means each of them.
func ParseRoles(text string) (roles []Role, err error) {
	for word := range strings.SplitSeq(text, ",") {
		switch role := Role(strings.TrimSpace(word)); {
		case role == "all":
			return Roles(), nil
		case !slices.Contains(Roles(), role):
			return nil, fmt.Errorf("unknown role %q; the roles are see, plan, submit, approve, operate, and all for each of them", word)
		case !slices.Contains(roles, role):
			roles = append(roles, role)
		}
	}
	return roles, nil
}
