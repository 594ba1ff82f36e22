package io.github.sotto;

import java.util.function.LongConsumer;
import java.util.function.LongFunction;

/**
 * A handle of the library, freed once it is closed and nothing uses it any more: no call, and no object that needs it.
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

    /** What happens behind the end of the object: other objects are let go. */
    synchronized void atEnd(Runnable action) {
        atEnd = action;
    }

    /** Refuses new calls; a running one is stopped if `interrupts`, and the object freed after it. */
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

    /** Keeps the object, for a call or for another object. */
    synchronized long retain() {
        if (isClosed) {
            throw new ClosedException();
        }
        ++users;
        return handle;
    }

    /** The same for one who keeps the object already, even if its owner has closed it. */
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

    /** Begins a call that is the only one. */
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

    /** Gives the object to a session, which alone uses it until detach. */
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

    /** A call beside others. */
    <T> T share(LongFunction<T> call) {
        long shared = retain();
        try {
            return call.apply(shared);
        } finally {
            release();
        }
    }

    /** A call alone. */
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
