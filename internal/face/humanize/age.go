package humanize

import (
	"fmt"
	"time"
)

// Age writes for how long something lasts, in the digits that change while a person looks at it. The script of the pages has the
// same rule.
func Age(d time.Duration) string {
	switch s := int(max(0, d).Seconds()); {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	case s < 3600:
		return fmt.Sprintf("%d min", s/60)
	case s < 48*3600:
		return fmt.Sprintf("%d h %d min", s/3600, s/60%60)
	default:
		return fmt.Sprintf("%d days", s/86400)
	}
}
