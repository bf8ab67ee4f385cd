package envoyrls

import (
	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type (
	rlDescriptor = common.RateLimitDescriptor
	rlOverride   = common.RateLimitDescriptor_RateLimitOverride
)

// maxEntries bounds the entries of one descriptor.
const maxEntries = 64

// check returns why a request cannot be decided, nil if it can.
func (s *Service) check(req *rls.RateLimitRequest) error {
	most := s.maxDescriptors
	if most == 0 {
		most = DefaultMaxDescriptors
	}
	switch {
	case req.GetDomain() == "":
		return invalid("the domain is missing; set the rate limit filter's domain")
	case len(req.Descriptors) == 0:
		return invalid("there are no descriptors; the rate limit filter needs actions that make some")
	case len(req.Descriptors) > most:
		return invalid("%d descriptors are more than %d", len(req.Descriptors), most)
	}
	for i, d := range req.Descriptors {
		if err := checkDescriptor(i, d); err != nil {
			return err
		}
	}
	return nil
}

func checkDescriptor(i int, d *rlDescriptor) error {
	switch n := len(d.GetEntries()); {
	case n == 0:
		return invalid("descriptor %d has no entries", i)
	case n > maxEntries:
		return invalid("descriptor %d: %d entries are more than %d", i, n, maxEntries)
	}
	for j, e := range d.Entries {
		if e.GetKey() == "" {
			return invalid("descriptor %d: the key of entry %d is empty", i, j)
		}
	}
	if o := d.Limit; o != nil {
		if _, ok := period(unit(o.Unit), multiplierOf(o)); !ok {
			return invalid("descriptor %d: its limit is per %d times %s; it must be second to year, at most 100 years",
				i, multiplierOf(o), unitName(unit(o.Unit)))
		}
	}
	return nil
}

// multiplierOf returns how many units a limit of a request is for; not set, 1.
func multiplierOf(o *rlOverride) uint32 {
	if o.UnitMultiplier == nil {
		return 1
	}
	return o.UnitMultiplier.Value
}

// limitOf returns the limit that a request brings, which was checked.
func limitOf(o *rlOverride) limit {
	length, _ := period(unit(o.Unit), multiplierOf(o)) // was checked
	return limit{
		most:   int64(o.RequestsPerUnit),
		length: length,
		unit:   unit(o.Unit),
		current: &rls.RateLimitResponse_RateLimit{
			RequestsPerUnit: o.RequestsPerUnit,
			Unit:            unit(o.Unit),
			UnitMultiplier:  o.UnitMultiplier,
		},
	}
}

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}
