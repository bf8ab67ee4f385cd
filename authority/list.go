package authority

// List is a white or black list of origins, ready to decide. The zero value is an empty list, which
// allows everyone. It is immutable: safe for concurrent use.
type List struct {
	origins Origins
	black   bool
	strict  bool
}

// NewList compiles the list of a rule. strict concerns white lists only.
func NewList(limitApp string, strategy Strategy, strict bool) *List {
	return &List{origins: CompileOrigins(limitApp), black: strategy == Black, strict: strict}
}

// Allows reports whether the list lets a caller of that origin through.
// A black list refuses whom it contains. A white list refuses whom it does not contain, but lets an
// empty origin pass unless it is strict; no item stands for an empty origin, not even *.
func (l *List) Allows(origin string) bool {
	switch {
	case l.origins.Empty():
		return true
	case origin == "":
		return l.black || !l.strict
	}
	return l.origins.Matches(origin) == l.isWhite()
}

func (l *List) isWhite() bool { return !l.black }
