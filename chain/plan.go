package chain

// Bound is a check of one resource and whether its rule only observes.
type Bound struct {
	Check    Check
	Observed bool
	Order    int // position among all checks of the resource; 0: that of the kind
	// Last says that the check is asked when all others have passed and what they reserved has been committed: it takes
	// what cannot be given back. It may block, as long as the call's context and a timeout of its own allow.
	Last bool
}
