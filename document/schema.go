package document

import (
	_ "embed" // for the schema
	"slices"
)

//go:embed schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of rule documents: the single document, and arrays of every kind.
// The schema of one kind's array stands under $defs, as "flowRules" and so on, named like the sections.
// Some things it cannot tell: whether a pattern compiles, and whether one number divides another.
func Schema() []byte { return slices.Clone(schema) }
