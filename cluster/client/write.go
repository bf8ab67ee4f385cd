package client

import "runtime"

const (
	writeKeep  = 64 << 10 // a larger buffer is not kept for the next write
	writeMost  = 4 << 20  // bytes that may wait to be written
	mostYields = 16       // times that the writer lets callers go before it
	mostBarren = 2        // of these in a row after which none has come
)

// claimWriter says whether the caller has to wake the writer. Caller holds mu.
func (cn *conn) claimWriter() bool {
	if cn.writing {
		return false
	}
	cn.writing = true
	return true
}

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
			var over bool
			if buf, over = cn.take(buf[:0]); over {
				return
			}
			if len(buf) == 0 {
				break
			}
			if _, err := cn.net.Write(buf); err != nil {
				cn.end(talkFault(err))
				return
			}
		}
	}
}

// take returns what is to be written and leaves buf to be filled next. If there were several callers lately, it first
// lets those that are ready to run add their frames, for as long as some do.
func (cn *conn) take(buf []byte) (out []byte, over bool) {
	cn.mu.Lock()
	defer cn.mu.Unlock()
	for yields, barren := 0, 0; cn.crowd > 1 && (len(cn.out) > 0 || cn.lanes.due != nil) && yields < mostYields && barren < mostBarren; yields++ {
		before := cn.pending.used
		cn.mu.Unlock()
		runtime.Gosched()
		cn.mu.Lock()
		if barren++; cn.pending.used > before {
			barren = 0
		}
	}
	cn.sendBatches()
	if len(cn.out) == 0 {
		cn.writing = false
	}
	if cap(buf) > writeKeep {
		buf = nil
	}
	out, cn.out = cn.out, buf
	return out, cn.why != nil
}
