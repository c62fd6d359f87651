package operator

// FormerNames maps the names that flags and settings had in v0.1.0 to the names that they have now.
// The former names work until the release after the next one.
func FormerNames() map[string]string {
	return map[string]string{
		"lock-backoff-most": "lock-backoff-max",
		"native-locked":     "native-max-lock",
		"native-longest":    "native-max-build",
		"native-stall":      "native-max-replica-stall",
		"free-disk":         "disk-free-now",
	}
}

// CurrentName returns the name that a flag or a setting has now.
func CurrentName(name string) string {
	if current, renamed := FormerNames()[name]; renamed {
		return current
	}
	return name
}
