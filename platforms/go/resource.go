package sotto

import "sync"

// resource counts the users of a library object: calls and dependent objects. The object is freed when it has been
// closed and has no users left.
type resource struct {
	mu        sync.Mutex
	users     int // one until it is closed, and one per call and per dependent object
	closed    bool
	busy      bool   // inside an exclusive call
	attached  bool   // attached to a session, which rejects other calls
	free      func() // destroys the object
	interrupt func() // makes a running call return soon; may be nil
}

func newResource(free, interrupt func()) *resource {
	return &resource{users: 1, free: free, interrupt: interrupt}
}

func (r *resource) close() {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.closed = true
	if r.busy && r.interrupt != nil {
		r.interrupt()
	}
	r.mu.Unlock()
	r.release()
}

// retain adds a call or a dependent object as a user.
func (r *resource) retain() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	r.users++
	return nil
}

// retainHeld adds a user on behalf of an existing user. The object may already be closed.
func (r *resource) retainHeld() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users++
	return nil
}

func (r *resource) release() {
	r.mu.Lock()
	r.users--
	last := r.users == 0
	r.mu.Unlock()
	if last {
		r.free()
	}
}

// enter begins an exclusive call, leave ends it.
func (r *resource) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return ErrClosed
	case r.busy || r.attached:
		return ErrBusy
	}
	r.users++
	r.busy = true
	return nil
}

func (r *resource) leave() {
	r.mu.Lock()
	r.busy = false
	r.mu.Unlock()
	r.release()
}

// attach reserves the object for a session, and detach releases it.
func (r *resource) attach() error {
	if err := r.enter(); err != nil {
		return err
	}
	r.mu.Lock()
	r.busy, r.attached = false, true
	r.mu.Unlock()
	return nil
}

func (r *resource) detach() {
	r.mu.Lock()
	r.attached = false
	r.mu.Unlock()
	r.release()
}

// cancel interrupts a call, or the next one, of an object that is not closed.
func (r *resource) cancel() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && r.interrupt != nil {
		r.interrupt()
	}
}
