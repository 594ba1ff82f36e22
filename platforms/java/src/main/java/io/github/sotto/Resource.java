package io.github.sotto;

import java.util.function.LongConsumer;
import java.util.function.LongFunction;

/**
 * A handle of the library, freed when it has been closed and has neither running calls nor dependent objects.
 */
final class Resource {
    private final long handle;
    private final LongConsumer free;
    private final LongConsumer interrupt; // makes a running call end soon; may be null
    private final Resource[] needs; // retained for this one
    private int users = 1; // one until it is closed, and one per call and per dependent object
    private boolean isClosed;
    private boolean isBusy;
    private boolean isAttached;
    private Runnable atEnd;

    Resource(long handle, LongConsumer free, LongConsumer interrupt, Resource... needs) {
        this.handle = handle;
        this.free = free;
        this.interrupt = interrupt;
        this.needs = needs;
    }

    /** Releases the objects that this one used, after its end. */
    synchronized void atEnd(Runnable action) {
        atEnd = action;
    }

    /** Rejects new calls. A running call is stopped if `interrupts` is true; the object is freed after it. */
    void close(boolean interrupts) {
        synchronized (this) {
            if (isClosed) {
                return;
            }
            isClosed = true;
            if (interrupts && isBusy && interrupt != null) {
                interrupt.accept(handle);
            }
        }
        release();
    }

    synchronized boolean isClosed() {
        return isClosed;
    }

    /** Adds a call or a dependent object as a user. */
    synchronized long retain() {
        if (isClosed) {
            throw new ClosedException();
        }
        ++users;
        return handle;
    }

    /** Adds a user on behalf of an existing user. The object may already be closed. */
    synchronized long retainHeld() {
        ++users;
        return handle;
    }

    void release() {
        synchronized (this) {
            if (--users > 0) {
                return;
            }
        }
        free.accept(handle);
        for (Resource needed : needs) {
            needed.release();
        }
        if (atEnd != null) {
            atEnd.run();
        }
    }

    /** Begins an exclusive call. */
    private synchronized long enter() {
        long entered = retain();
        if (isBusy || isAttached) {
            --users; // the owner's remains
            throw new BusyException(isAttached);
        }
        isBusy = true;
        return entered;
    }

    private void leave() {
        synchronized (this) {
            isBusy = false;
        }
        release();
    }

    /** Reserves the object for a session until detach. */
    synchronized long attach() {
        long attached = enter();
        isBusy = false;
        isAttached = true;
        return attached;
    }

    void detach() {
        synchronized (this) {
            isAttached = false;
        }
        release();
    }

    /** Interrupts the running call, or the next one. */
    synchronized void cancel() {
        if (!isClosed) {
            interrupt.accept(handle);
        }
    }

    /** Runs a call that may run at the same time as others. */
    <T> T share(LongFunction<T> call) {
        long shared = retain();
        try {
            return call.apply(shared);
        } finally {
            release();
        }
    }

    /** Runs an exclusive call. */
    <T> T run(LongFunction<T> call) {
        long entered = enter();
        try {
            return call.apply(entered);
        } finally {
            leave();
        }
    }

    void act(LongConsumer call) {
        run(entered -> {
            call.accept(entered);
            return null;
        });
    }
}
