package key

// Range is a half-open interval of keys in the order of the key's index: From <= k < To. The zero
// Key means no bound on that side.
type Range struct {
	From Key
	To   Key
}
