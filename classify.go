package tidegate

import (
	"context"
	"errors"
)

// Classify is the default classifier: an error is a failure, except that a cancelled context says nothing about
// the resource, and a refusal by a rule, of a call inside this one, is none of its failures.
func Classify(err error) Outcome {
	switch {
	case err == nil, errors.Is(err, ErrBlocked):
		return Success
	case errors.Is(err, context.Canceled):
		return Ignore
	}
	return Failure
}
