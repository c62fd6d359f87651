package sim

// simpler are the options that are tried one after the other to get a run that is
// easier to follow.
var simpler = []string{
	"crash=0", "xa=0", "reconnect=0", "lostack=0", "return=0", "overrun=0", "timeout=0",
	"keepahead=false", "keeprepeats=false", "keychanged=false", "unique=0", "kind=0",
	"appliers=1", "copiers=1", "batch=1", "limit=100", "piece=4", "gulp=10", "ids=4", "steps=200",
}

// Shrink looks for a run with simpler options, and as few steps as can be found, that
// breaks the same law. It tries so many seeds for each option.
func Shrink(v *Violation, d Defect, seeds uint64) *Violation {
	for _, set := range simpler {
		o := v.Options
		if err := o.Set(set); err != nil {
			panic(err)
		}
		if o == v.Options {
			continue
		}
		if found := shortest(o, d, v.Law, seeds); found != nil {
			v = found
		}
	}
	if found := shortest(v.Options, d, v.Law, seeds); found != nil && found.Step < v.Step {
		v = found
	}
	return v
}

// shortest returns the shortest of the runs that break the law.
func shortest(o Options, d Defect, law string, seeds uint64) *Violation {
	var best *Violation
	for seed := uint64(1); seed <= seeds; seed++ {
		if _, v := Run(seed, o, d); v != nil && v.Law == law && (best == nil || v.Step < best.Step) {
			best = v
		}
	}
	return best
}
