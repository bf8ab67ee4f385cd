package token

import (
	"context"
	"math"
	"sync"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// localMember is who holds the concurrency tokens of this process. No connection has such a name.
const localMember = "\x00in process"

// Local returns the service as the token service of a part of the same process that belongs to the namespace: an
// embedded server decides its own process's rules by it, without a network. Argument values are counted as if they had
// come over the wire. It joins nothing: where the process is to count as a member, call Join.
func (s *Service) Local(ns string) chain.TokenService { return &local{service: s, ns: namespace(ns)} }

type local struct {
	service *Service
	ns      string
	pool    sync.Pool // of *scratch
}

// A scratch is where the values of a request are converted.
type scratch struct {
	frame   []byte
	request wire.Request
}

// count32 returns the units as the wire can carry them.
func count32(n int64) int32 { return int32(max(math.MinInt32, min(n, math.MaxInt32))) }

// RequestToken implements chain.TokenService.
func (l *local) RequestToken(_ context.Context, flowID, count int64, prioritized bool) chain.TokenResult {
	return l.service.Flow(l.service.Now(), l.ns, flowID, count32(count), prioritized)
}

// RequestParamToken implements chain.TokenService.
func (l *local) RequestParamToken(_ context.Context, flowID, count int64, values []chain.Arg) chain.TokenResult {
	sc, _ := l.pool.Get().(*scratch)
	if sc == nil {
		sc = &scratch{}
	}
	defer l.pool.Put(sc)
	var err error
	sc.frame, _, _, err = wire.AppendParam(sc.frame[:0], 1, flowID, count32(count), values, wire.MaxParams)
	if err == nil {
		err = sc.request.Decode(sc.frame[2:])
	}
	if err != nil {
		return chain.TokenResult{Status: chain.TokenBadRequest, Err: err}
	}
	return l.service.Param(l.service.Now(), l.ns, flowID, count32(count), sc.request.Values)
}

// AcquireConcurrent implements chain.TokenService.
func (l *local) AcquireConcurrent(_ context.Context, flowID, count int64) chain.TokenResult {
	c := claim{member: localMember, local: true, flowID: flowID, n: int64(count32(count))}
	return l.service.acquire(l.service.Now(), c, l.ns)
}

// ReleaseConcurrent implements chain.TokenService.
func (l *local) ReleaseConcurrent(tokenID int64) { l.service.Release(localMember, tokenID) }

// Connected implements chain.TokenService.
func (l *local) Connected() int { return l.service.Connected(l.ns) }
