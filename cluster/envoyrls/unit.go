package envoyrls

import (
	"math"
	"strings"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
)

// unit is a unit of time with the number that Envoy's answers have for it.
type unit = rls.RateLimitResponse_RateLimit_Unit

// units is one more than the largest number of a unit.
const units = 8

// longest bounds the period of a limit.
const longest = 100 * 365 * 24 * time.Hour

// parseUnit reads a unit as the files name it, in any case; false if there is none of that name.
func parseUnit(name string) (unit, bool) {
	u, ok := rls.RateLimitResponse_RateLimit_Unit_value[strings.ToUpper(name)]
	return unit(u), ok && u > 0 && u < units
}

// unitName is the name of a unit in files and status.
func unitName(u unit) string { return strings.ToLower(u.String()) }

// lengthOf returns the length of a unit, 0 for what is none. A month is 30 days and a year 365, as envoyproxy/ratelimit
// has it: windows of fixed length that begin at multiples of it since the Unix epoch, no calendar.
func lengthOf(u unit) time.Duration {
	const day = 24 * time.Hour
	switch u {
	case rls.RateLimitResponse_RateLimit_SECOND:
		return time.Second
	case rls.RateLimitResponse_RateLimit_MINUTE:
		return time.Minute
	case rls.RateLimitResponse_RateLimit_HOUR:
		return time.Hour
	case rls.RateLimitResponse_RateLimit_DAY:
		return day
	case rls.RateLimitResponse_RateLimit_WEEK:
		return 7 * day
	case rls.RateLimitResponse_RateLimit_MONTH:
		return 30 * day
	case rls.RateLimitResponse_RateLimit_YEAR:
		return 365 * day
	case rls.RateLimitResponse_RateLimit_UNKNOWN:
	}
	return 0
}

// period returns the length in ns of the window of a limit per so many units; false if the unit is none, the multiplier
// is 0, or the period is longer than 100 years.
func period(u unit, multiplier uint32) (length int64, ok bool) {
	one := int64(lengthOf(u))
	if one == 0 || multiplier == 0 || int64(multiplier) > int64(longest)/one {
		return 0, false
	}
	return one * int64(multiplier), true
}

// wholeSeconds rounds up, because Envoy tells its callers whole seconds and cuts off the rest.
func wholeSeconds(ns int64) int64 {
	return int64(math.Ceil(float64(ns) / float64(time.Second)))
}
