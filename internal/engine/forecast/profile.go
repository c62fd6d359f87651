package forecast

import "time"

// Profile is the load of each hour of a week, as a share of the most that the server can do. The
// zero value knows no load.
type Profile struct {
	loads [7][24]float64 // by time.Weekday
	zone  *time.Location
	text  string
}

// IsZero reports whether no loads are known.
func (p Profile) IsZero() bool { return p.zone == nil }

// String returns the name of the file that the profile was read from, or which runs saw it.
func (p Profile) String() string { return p.text }

// Load returns the load at a moment; 0 if no loads are known.
func (p Profile) Load(at time.Time) float64 {
	if p.IsZero() {
		return 0
	}
	at = at.In(p.zone)
	return p.loads[at.Weekday()][at.Hour()]
}

// next returns when the hour of a moment is over.
func (p Profile) next(at time.Time) time.Time {
	local := at.In(p.zone)
	past := time.Duration(local.Minute())*time.Minute + time.Duration(local.Second())*time.Second + time.Duration(local.Nanosecond())
	return at.Add(time.Hour - past)
}
