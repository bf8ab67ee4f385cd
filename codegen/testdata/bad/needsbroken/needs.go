// Package needsbroken imports a package that does not compile.
package needsbroken

import "example.com/bad/broken"

// Needs can be guarded all the same.
type Needs interface{ Do() (broken.T, error) }
