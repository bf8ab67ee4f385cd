package client

import "runtime"

const (
	writeKeep  = 64 << 10 // a larger buffer is not kept for the next write
	writeMost  = 4 << 20  // bytes that may wait to be written
	mostYields = 16       // times that the writer lets callers go before it
	mostBarren = 2        // of these in a row after which none has come
)

// claimWriter says whether the caller has to wake the writer.
func (cn *conn) claimWriter() bool { return !cn.awake.Load() && cn.awake.CompareAndSwap(false, true) }

func (cn *conn) wakeWriter(wake bool) {
	if wake {
		cn.wakeup <- struct{}{} // has room: it is claimed once between two looks of the writer
	}
}

// write writes what the callers left, all at once, until the connection ends.
func (cn *conn) write() {
	var buf []byte
	for range cn.wakeup {
		for {
			cn.linger()
			var over bool
			if buf, over = cn.take(buf[:0]); over {
				return
			}
			if len(buf) == 0 {
				if cn.inbox.empty() || !cn.claimWriter() {
					break
				}
				continue
			}
			if _, err := cn.net.Write(buf); err != nil {
				cn.end(talkFault(err))
				return
			}
		}
	}
}

// linger lets callers that are ready to run leave their calls too, for as long as some do, if there were several lately.
func (cn *conn) linger() {
	if cn.crowd.Load() < 2 || cn.inbox.empty() {
		return
	}
	last := cn.inbox.head.Load()
	for yields, barren := 0, 0; yields < mostYields && barren < mostBarren; yields++ {
		runtime.Gosched()
		barren++
		if head := cn.inbox.head.Load(); head != last {
			last, barren = head, 0
		}
	}
}

// take returns what is to be written and leaves buf to be filled next. If there is nothing, the writer has to be woken for
// its next look, which it must have for calls that came into the inbox before.
func (cn *conn) take(buf []byte) (out []byte, over bool) {
	if cap(buf) > writeKeep {
		buf = nil
	}
	var woken queue
	now := cn.client.now()
	cn.mu.Lock()
	cn.collect(now, &woken)
	if cn.why == nil {
		cn.sendBatches(now)
	}
	out, cn.out = cn.out, buf
	if cn.writing = len(out) > 0; cn.writing {
		cn.alarm(now+grain, now) // for the calls that come meanwhile
	} else {
		cn.awake.Store(false)
	}
	if cn.stuck.Load() {
		cn.stuck.Store(false)
	}
	over = cn.why != nil
	cn.mu.Unlock()
	woken.wake(cn.chains)
	return out, over
}
