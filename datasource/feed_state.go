package datasource

import "time"

// exists notes that there is a document, good or bad. Caller holds reports.
func (f *Feed) exists() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.Deleted = false
}

// agree notes that the document holds what is in force. Caller holds reports.
func (f *Feed) agree(revision string) {
	f.refused = nil
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inSync(revision)
}

// updated notes that the handler took new content. Caller holds reports.
func (f *Feed) updated(revision string) {
	f.refused, f.clearing = nil, false
	f.count()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inSync(revision)
	f.state.Updates++
	f.state.LastUpdate = f.state.LastSuccess
	if f.note != nil {
		f.state.LastErrorTime = f.state.LastSuccess
	}
}

// inSync is the common part of agree and updated. Caller holds reports and mu.
func (f *Feed) inSync(revision string) {
	f.state.LastSuccess = time.Now()
	f.state.LastError = f.note
	f.state.Revision = revision
	f.state.Stale = false
}

// deleted notes that the document is gone; kept says that its rules are still in force. Caller holds reports.
func (f *Feed) deleted(kept bool) {
	if !kept {
		f.count()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.LastError = nil
	f.state.Deleted, f.state.Stale = true, kept
	if !kept {
		f.state.LastSuccess, f.state.Revision = time.Now(), ""
	}
}

// fail notes a failed read or refused content and returns err. Caller holds reports.
func (f *Feed) fail(err error) error {
	f.mark(err)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.Failures++
	return err
}

// mark makes err the current error. Caller holds reports.
func (f *Feed) mark(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.LastError, f.state.LastErrorTime = err, time.Now()
	f.state.Stale = f.inForce != nil || f.clearing
}

// count asks the handler for its figures. Caller holds reports.
func (f *Feed) count() {
	counter, ok := f.handler.(RuleCounter)
	if !ok {
		return
	}
	var accepted, refused int
	if f.call(func() error { accepted, refused = counter.RuleCounts(); return nil }) != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.Accepted, f.state.Refused = accepted, refused
}
